'use strict';
/*
 * process.stdout, process.stderr and console that write at once: in order
 * with child processes and control frames, and nothing is lost at an exit.
 */

const { Console } = require('node:console');
const { Writable } = require('node:stream');
const { writeAll } = require('./link.cjs');
const stop = require('./stop.cjs');

let muted = false;

/* While a zygote rehearses: what is written goes nowhere. */
function mute(on) {
	muted = on;
}

class Output extends Writable {
	constructor(fd) {
		super({ decodeStrings: true, emitClose: false });
		this.fd = fd;
		this.isTTY = false;
	}

	/* A stream that is cut while it writes would never write again. */
	write(...args) {
		return stop.held(() => super.write(...args));
	}

	_write(chunk, _encoding, done) {
		try {
			if (!muted)
				writeAll(this.fd, chunk, stop.pending);
			done();
		} catch (error) {
			done(error.code === 'EPIPE' ? null : error);
		}
	}

	/* As with node's own, which cannot be closed. */
	_destroy(_error, done) {
		done();
	}
}

function install() {
	const stdout = new Output(1);
	const stderr = new Output(2);
	const streams = { stdout, stderr };
	for (const [name, value] of Object.entries(streams))
		Object.defineProperty(process, name,
			{ value, configurable: true, writable: true });
	Object.defineProperty(globalThis, 'console', {
		value: new Console({ stdout, stderr }),
		configurable: true, writable: true,
	});
}

module.exports = { install, mute };
