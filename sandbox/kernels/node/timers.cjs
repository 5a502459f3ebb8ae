'use strict';
/*
 * Timers that an interrupt reaches: the callback runs under the kernel's
 * guard, and what an interrupted cell still has pending is cleared.
 */

const timers = require('node:timers');
const promises = require('node:timers/promises');
const { promisify } = require('node:util');
const { syncBuiltinESMExports } = require('node:module');

const original = { ...timers };

function wrap(kernel, name, repeats) {
	const start = original[name];
	const wrapped = function (callback, ...rest) {
		const run = kernel.run;
		if (typeof callback !== 'function' || !run)
			return start(callback, ...rest);
		const timer = start(function (...args) {
			if (!repeats)
				run.timers?.delete(timer);
			if (!kernel.run)
				return callback.apply(this, args);
			kernel.guard(() => callback.apply(this, args));
		}, ...rest);
		if (run.over)
			clear(timer);
		else
			run.timers?.add(timer);
		return timer;
	};
	Object.defineProperty(wrapped, 'name', { value: name });
	return wrapped;
}

/* timers/promises, by the wrapped ones where that is the same. */
function promised(start, plain, hasDelay) {
	return hasDelay ? (delay, value, options) =>
		options ? plain(delay, value, options) :
			new Promise((resolve) => start(resolve, delay, value)) :
		(value, options) => options ? plain(value, options) :
			new Promise((resolve) => start(resolve, value));
}

function install(kernel) {
	const wrapped = {
		setTimeout: wrap(kernel, 'setTimeout', false),
		setInterval: wrap(kernel, 'setInterval', true),
		setImmediate: wrap(kernel, 'setImmediate', false),
	};
	for (const name of ['setTimeout', 'setImmediate']) {
		const value = promised(wrapped[name], promises[name],
			name === 'setTimeout');
		Object.defineProperty(wrapped[name], promisify.custom,
			{ value });
		promises[name] = value;
	}
	for (const [name, value] of Object.entries(wrapped)) {
		timers[name] = value;
		Object.defineProperty(globalThis, name, {
			value, configurable: true, enumerable: true,
			writable: true,
		});
	}
	syncBuiltinESMExports();
}

function clear(timer) {
	if (timer?.constructor?.name === 'Immediate')
		original.clearImmediate(timer);
	else
		original.clearTimeout(timer);
}

module.exports = { install, clear };
