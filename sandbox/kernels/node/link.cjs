'use strict';
/*
 * Frames on the control socket. Writes are synchronous, and a RESULT waits
 * for its ACK, so that what is printed later cannot overtake it.
 */

const fs = require('node:fs');
const net = require('node:net');
const stop = require('./stop.cjs');

const RUN = 0x40, ACK = 0x41, BEGIN = 0x42, INTERRUPT = 0x43;
const READY = 0x50, RESULT = 0x51, ERROR = 0x53, DONE = 0x54;
const HEAD = 16;
const FRAME_MAX = 64 << 20;
const TEXT_KEPT = 1 << 20;

const cell = new Int32Array(new SharedArrayBuffer(4));

/* Sleep a little, longer each time. */
function pause(turn) {
	Atomics.wait(cell, 0, 0, Math.min(2, 0.02 * (turn + 1)));
}

/* Write all of data to a descriptor, whatever its mode, or until given up. */
function writeAll(fd, data, givenUp = () => false) {
	for (let at = 0, turn = 0; at < data.length && !(turn && givenUp());) {
		try {
			at += fs.writeSync(fd, data, at);
			turn = 0;
		} catch (error) {
			if (error.code !== 'EAGAIN')
				throw error;
			pause(turn++);
		}
	}
}

class Link {
	/* onFrame() is called when a frame that is no ACK has come. */
	constructor(onFrame) {
		this.onFrame = onFrame;
		this.frames = [];
		this.parts = [];
		this.size = 0;
		this.acked = 0;
		this.interrupt = 0;
	}

	open(fd) {
		this.fd = fd;
		this.socket = new net.Socket({ fd, readable: true });
		this.socket.on('data', (data) => this.come(data));
		for (const event of ['end', 'error', 'close'])
			this.socket.on(event, () => process.reallyExit(0));
	}

	come(data) {
		stop.held(() => {
			this.feed(data);
			if (this.frames.length)
				this.onFrame();
		});
	}

	take(type) {
		const at = this.frames.findIndex((each) => each.type === type);
		return at < 0 ? null : this.frames.splice(at, 1)[0];
	}

	send(type, tag, object) {
		const whole = frame(type, tag, encode(type, object));
		stop.held(() => {
			this.acked = 0;
			this.write(whole);
			if (type === RESULT)
				this.awaitAck(tag);
		});
	}

	/* A part of a frame would be the end of this kernel. */
	write(whole) {
		try {
			if (!stop.write)
				writeAll(this.fd, whole);
			else if (!stop.write(this.fd, whole))
				process.reallyExit(0);
		} catch {
			process.reallyExit(0);
		}
	}

	/* Or an interrupt: the ACK comes then while nobody waits for it. */
	awaitAck(tag) {
		for (let turn = 0; this.acked !== tag && !stop.pending();)
			if (!this.readNow())
				pause(turn++);
	}

	/* Take what is there of the next frame; false if nothing is. */
	readNow() {
		const part = Buffer.alloc(this.wanted());
		let got;
		try {
			got = fs.readSync(this.fd, part);
		} catch (error) {
			if (error.code !== 'EAGAIN')
				process.reallyExit(0);
			return false;
		}
		if (!got)
			process.reallyExit(0);
		this.feed(part.subarray(0, got));
		return true;
	}

	/* Whether the run's INTERRUPT is here: a SIGINT never comes first. */
	interrupted(tag) {
		while (this.readNow())
			continue;
		return this.interrupt === tag;
	}

	/* Bytes that the frame that is coming still needs. */
	wanted() {
		if (this.size < HEAD)
			return HEAD - this.size;
		this.join();
		return HEAD + this.parts[0].readUInt32LE(0) - this.size;
	}

	join() {
		if (this.parts.length > 1)
			this.parts = [Buffer.concat(this.parts)];
	}

	feed(data) {
		this.parts.push(data);
		this.size += data.length;
		while (this.size >= HEAD) {
			if (this.parts[0].length < HEAD)
				this.join();
			const whole = HEAD + this.parts[0].readUInt32LE(0);
			if (this.size < whole)
				return;
			this.join();
			const bytes = this.parts[0];
			this.accept(bytes.readUInt16LE(4), bytes.readUInt32LE(8),
				bytes.subarray(HEAD, whole));
			this.parts = [bytes.subarray(whole)];
			this.size -= whole;
		}
	}

	accept(type, tag, payload) {
		if (type === ACK)
			this.acked = tag;
		else if (type === INTERRUPT)
			this.interrupt = tag;
		else
			this.frames.push({ type, tag, payload });
	}
}

/* A link to nobody, who runs codes to learn how it is done. */
class Rehearsal extends Link {
	constructor(onFrame, onEnd) {
		super(onFrame);
		this.onEnd = onEnd;
	}

	play(codes) {
		this.left = codes.length;
		this.come(Buffer.concat(codes.map((code, at) => frame(RUN, at + 1,
			Buffer.from(JSON.stringify({ code }))))));
	}

	/* What nobody hears is acknowledged at once. */
	write(whole) {
		const type = whole.readUInt16LE(4);
		if (type === RESULT)
			this.feed(frame(ACK, whole.readUInt32LE(8), ''));
		else if (type === DONE && !--this.left)
			this.onEnd();
	}

	interrupted() {
		return false;
	}
}

function frame(type, tag, payload) {
	const head = Buffer.alloc(HEAD);
	head.writeUInt32LE(payload.length, 0);
	head.writeUInt16LE(type, 4);
	head.writeUInt32LE(tag, 8);
	return Buffer.concat([head, Buffer.from(payload)]);
}

/* object as JSON that fits in a frame, whatever must be left out. */
function encode(type, object) {
	let payload = Buffer.from(JSON.stringify(object));
	while (payload.length > FRAME_MAX) {
		object = type === RESULT ? withoutLargest(object) :
			cut(object);
		payload = Buffer.from(JSON.stringify(object));
	}
	return payload;
}

function withoutLargest(object) {
	const mime = { ...object.mime };
	const sizes = Object.entries(mime).map(([key, value]) =>
		[Buffer.byteLength(JSON.stringify(value)), key]);
	const [size, key] = sizes.sort((a, b) => b[0] - a[0])[0];
	const note = `[${key} of ${size} bytes is too large to send]`;
	if (key === 'text/plain') {
		mime[key] = mime[key].slice(0, TEXT_KEPT) + note;
	} else {
		delete mime[key];
		mime['text/plain'] = (mime['text/plain'] ?? '') + note;
	}
	return { ...object, mime };
}

function cut({ ename, evalue, traceback }) {
	return {
		ename, evalue: evalue.slice(0, TEXT_KEPT),
		traceback: traceback.slice(0, 20).map(
			(line) => line.slice(0, TEXT_KEPT)),
	};
}

module.exports = { Link, Rehearsal, frame, writeAll, HEAD, BEGIN, RUN, ACK,
	READY, RESULT, ERROR, DONE };
