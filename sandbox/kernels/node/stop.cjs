'use strict';
/*
 * Interrupts. What must not be cut, such as a frame, is held(); the tenant's
 * code is guarded, so that an interrupt ends it as a whole. See stop.c.
 */

const native = require('./warren_stop.node');

const HELD = 0, PENDING = 1;
const { words } = native;

/* fn() without an interrupt in it; one that came meanwhile follows it. */
function held(fn) {
	words[HELD]++;
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

module.exports = { arm: native.arm, guard, held, pending, watch };
