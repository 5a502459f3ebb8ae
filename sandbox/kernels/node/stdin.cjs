'use strict';
/*
 * What a run may read: process.stdin, and descriptor 0. Text that came with a
 * run is a file in memory there while it is on; else it is /dev/null.
 */

const fs = require('node:fs');
const { input } = require('./stop.cjs');

/* Have text read; gives what takes it back. */
function give(text) {
	const before = Object.getOwnPropertyDescriptor(process, 'stdin');
	let stream = null;

	input(Buffer.from(text));
	Object.defineProperty(process, 'stdin', {
		configurable: true, enumerable: true,
		get() {
			stream ??= open();
			return stream;
		},
	});
	return () => {
		input(null);
		Object.defineProperty(process, 'stdin', before);
		stream?.destroy();
	};
}

function open() {
	const stream = new fs.ReadStream(null, { fd: 0, autoClose: false });

	/* as with node's own, the descriptor stays */
	stream._destroy = (error, done) => done(error);
	return stream;
}

module.exports = { give };
