'use strict';
/*
 * Whether forked kernels work here: two are run before any request is taken.
 * What must differ between siblings is compared.
 */

const fs = require('node:fs');
const { frame, HEAD, BEGIN, RUN, ACK, READY, RESULT, ERROR, DONE } =
	require('./link.cjs');

const CODE = `await new Promise((done) => setTimeout(done, 1));
let sum = 0;
for (let i = 0; i < 3e5; i++)
	sum += i % 7;
await require('node:fs').promises.readFile('/etc/passwd');
require('node:zlib').gzipSync('x');
await WebAssembly.instantiate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));
const { randomBytes, randomUUID } = require('node:crypto');
JSON.stringify([process.pid, Math.random(), randomUUID(),
	randomBytes(8).toString('hex')])`;

function send(fd, type, payload) {
	fs.writeSync(fd, frame(type, 1, payload));
}

function receive(fd) {
	const head = exactly(fd, HEAD);
	return { type: head.readUInt16LE(4),
		payload: exactly(fd, head.readUInt32LE(0)).toString() };
}

function exactly(fd, size) {
	const data = Buffer.alloc(size);
	for (let at = 0; at < size;) {
		const got = fs.readSync(fd, data, at, size - at, null);
		if (!got)
			throw new Error('the kernel ended');
		at += got;
	}
	return data;
}

function ask(fd) {
	send(fd, BEGIN, '/\0PATH=/usr/bin:/bin\0HOME=/root\0LANG=C.UTF-8\0');
	if (receive(fd).type !== READY)
		throw new Error('no READY');
	send(fd, RUN, JSON.stringify({ code: CODE }));
	for (let text = null;;) {
		const { type, payload } = receive(fd);
		if (type === RESULT) {
			text = JSON.parse(payload).mime['text/plain'];
			send(fd, ACK, '');
		} else if (type === ERROR) {
			throw new Error(payload);
		} else if (type === DONE) {
			return text;
		}
	}
}

/* Null in the zygote; in a child, what enter.alone() gave. Throws. */
function run(enter) {
	const seen = [];
	for (let turn = 0; turn < 2; turn++) {
		const child = enter.alone('javascript', -1);
		if (child.language)
			return child;
		try {
			seen.push(JSON.parse(ask(child.fd).slice(1, -1)));
		} finally {
			fs.closeSync(child.fd);
			enter.reap(child.pid);
		}
	}
	if (seen[0].some((value, at) => value === seen[1][at]))
		throw new Error(`zygote: siblings are alike: ${
			JSON.stringify(seen)}`);
	return null;
}

module.exports = { run };
