/**
 * A WebSocket client: text and binary messages, pings answered, and how it was
 * closed.
 */
import crypto from 'node:crypto';
import http from 'node:http';
import https from 'node:https';

import { addressOf } from './http.mjs';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const TEXT = 0x1;
const BINARY = 0x2;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;

function frame(opcode, payload) {
	const mask = crypto.randomBytes(4);
	let head = Buffer.from([0x80 | opcode, 0x80 | payload.length]);

	if (payload.length >= 65536) {
		head = Buffer.alloc(10);
		head.writeUInt16BE((0x80 | opcode) << 8 | 0x80 | 127, 0);
		head.writeBigUInt64BE(BigInt(payload.length), 2);
	} else if (payload.length >= 126) {
		head = Buffer.from([0x80 | opcode, 0x80 | 126,
			payload.length >> 8, payload.length & 0xff]);
	}
	const body = Buffer.from(payload.map((b, i) => b ^ mask[i % 4]));

	return Buffer.concat([head, mask, body]);
}

/** Takes whole frames off the front of ${buffer}. */
function* framesOf(buffer) {
	let at = 0;

	while (buffer.length - at >= 2) {
		let length = buffer[at + 1] & 0x7f;
		let start = at + 2;
		if (length === 126) {
			if (buffer.length - at < 4)
				break;
			length = buffer.readUInt16BE(at + 2);
			start = at + 4;
		} else if (length === 127) {
			if (buffer.length - at < 10)
				break;
			length = Number(buffer.readBigUInt64BE(at + 2));
			start = at + 10;
		}
		if (buffer.length < start + length)
			break;
		yield {
			opcode: buffer[at] & 0x0f,
			payload: buffer.subarray(start, start + length),
			end: start + length,
		};
		at = start + length;
	}
}

class Socket {
	#socket;
	#messages = [];
	#waiting = [];
	#rest = Buffer.alloc(0);
	/** The code of the peer's close; undefined before, or without one. */
	closed;
	pings = 0;

	constructor(socket, head) {
		this.#socket = socket;
		this.#take(head);
		socket.on('data', (chunk) => this.#take(chunk));
		socket.on('error', () => {});
		socket.on('close', () => this.#give(undefined));
	}

	send(text) {
		this.#socket.write(frame(TEXT, Buffer.from(text)));
	}

	sendBinary(bytes) {
		this.#socket.write(frame(BINARY, Buffer.from(bytes)));
	}

	/** Bytes as they are: what is no frame, too. */
	sendRaw(bytes) {
		this.#socket.write(bytes);
	}

	/** Read no more, or again. */
	pause() {
		this.#socket.pause();
	}

	resume() {
		this.#socket.resume();
	}

	/** Without any goodbye. */
	destroy() {
		this.#socket.destroy();
	}

	/** The next message, text or a Buffer; undefined when the peer is gone. */
	next() {
		if (this.#messages.length > 0)
			return Promise.resolve(this.#messages.shift());
		return new Promise((resolve) => this.#waiting.push(resolve));
	}

	close() {
		this.#socket.end(frame(CLOSE, Buffer.alloc(0)));
	}

	#take(chunk) {
		const all = Buffer.concat([this.#rest, chunk]);
		let end = 0;

		for (const found of framesOf(all)) {
			end = found.end;
			if (found.opcode === TEXT)
				this.#give(found.payload.toString());
			else if (found.opcode === BINARY)
				this.#give(Buffer.from(found.payload));
			else if (found.opcode === CLOSE)
				this.#closed(found.payload);
			else if (found.opcode === PING) {
				this.pings++;
				this.#socket.write(frame(PONG, found.payload));
			}
		}
		this.#rest = all.subarray(end);
	}

	#closed(payload) {
		this.closed = payload.length >= 2
			? payload.readUInt16BE(0) : 1005;
		this.#socket.end(frame(CLOSE, payload.subarray(0, 2)));
	}

	#give(message) {
		const waiting = this.#waiting.shift();

		if (waiting)
			waiting(message);
		else
			this.#messages.push(message);
	}
}

/**
 * Connects; rejects with `{status}` when the upgrade is refused. With an agent
 * of https by TLS.
 */
export function connect(url, more = {}, { agent } = {}) {
	const key = crypto.randomBytes(16).toString('base64');
	const { host, port, headers } = addressOf(url);
	const { pathname, search, hostname } = new URL(url);

	return new Promise((resolve, reject) => {
		const request = (agent === undefined ? http : https).request({
			host,
			port,
			agent,
			servername: hostname,
			path: pathname + search,
			headers: {
				...headers,
				...more,
				Connection: 'Upgrade',
				Upgrade: 'websocket',
				'Sec-WebSocket-Version': '13',
				'Sec-WebSocket-Key': key,
			},
		});
		request.on('upgrade', (response, socket, head) => {
			const accept = crypto.createHash('sha1')
				.update(key + GUID).digest('base64');
			if (response.headers['sec-websocket-accept'] !== accept)
				reject(new Error('wrong Sec-WebSocket-Accept'));
			else
				resolve(new Socket(socket, head));
		});
		request.on('response', (response) => {
			response.resume();
			reject(Object.assign(new Error('refused'),
				{ status: response.statusCode }));
		});
		request.on('error', reject);
		request.end();
	});
}
