'use strict';
/*
 * Interrupts. What must not be cut, such as a frame, is held(); the tenant's
 * code is guarded, so that an interrupt ends it as a whole. See stop.c.
 */

const vm = require('node:vm');

const native = load();
const HELD = 0, PENDING = 1, ASKED = 2;
const { words } = native;

/* The addon is for glibc; elsewhere Node's own watch is what there is. */
function load() {
	try {
		return require('./warren_stop.node');
	} catch {
		return { words: new Int32Array(3), watch: () => false,
			arm() {}, stop() {}, spare() {}, call: watched,
			readable: () => true, input: noInput, write: null };
	}
}

function noInput(text) {
	if (text)
		throw new Error('No stdin for a run: the addon is missing');
}

/* As the addon's call(); an interrupt between two calls may be lost. */
function watched(fn) {
	const name = Symbol.for('warren.gate');
	globalThis[name] = fn;
	try {
		vm.runInThisContext(`globalThis[Symbol.for('warren.gate')]()`,
			{ breakOnSigint: true, displayErrors: false });
		return false;
	} catch (error) {
		if (error?.code !== 'ERR_SCRIPT_EXECUTION_INTERRUPTED')
			throw error;
		return true;
	} finally {
		delete globalThis[name];
	}
}

/* fn() without an interrupt in it; one that came meanwhile follows it. */
function held(fn) {
	words[HELD]++;
	if (words[ASKED]) /* it would come in the midst of fn */
		native.spare();
	try {
		return fn();
	} finally {
		if (!--words[HELD] && words[PENDING])
			native.stop();
	}
}

/* fn(), or what an interrupt left of it: then true. Not within another. */
function guard(fn) {
	const before = words[HELD]++;
	try {
		return native.call(() => {
			words[HELD]--;
			if (words[PENDING])
				native.stop();
			try {
				fn();
			} finally {
				words[HELD]++;
			}
		});
	} finally {
		words[HELD] = before;
	}
}

/* Whether an interrupt came that nothing has seen to yet. */
const pending = () => words[PENDING] !== 0;

/* That one, which is seen to by this. */
function take() {
	const came = pending();
	words[PENDING] = 0;
	return came;
}

/* Node would give the signal to the tenant's listeners, and to them alone. */
function keepSignal() {
	for (const listener of process.listeners('newListener')) {
		if (listener.name !== 'startListeningIfSignal')
			continue;
		process.removeListener('newListener', listener);
		process.on('newListener', (type) => {
			if (type !== 'SIGINT')
				listener(type);
		});
	}
}

/* Call fn for each SIGINT from now on. */
function watch(fn) {
	if (native.watch(fn))
		keepSignal();
	else
		process.on('SIGINT', fn);
}

module.exports = { arm: native.arm, input: native.input,
	readable: native.readable, write: native.write, guard, held, pending,
	take, watch };
