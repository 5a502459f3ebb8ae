/**
 * HTTP with next to no cost of the client's own: one kept connection, bodies
 * that are bytes already, answers in memory that is used again. For megabytes
 * of JSON, of which encoding and parsing here would be most of what is timed.
 */
import net from 'node:net';

import { addressOf } from '../e2e/lib/http.mjs';

const ROOM = 8 << 20;
const END_OF_HEAD = Buffer.from('\r\n\r\n');

export class Lean {
	#address;
	#headers;
	#socket;
	#got = Buffer.alloc(ROOM);
	#length = 0;
	#body = Buffer.alloc(ROOM);
	#wait;

	constructor(url, headers = {}) {
		this.#address = addressOf(url);
		this.#headers = Object.entries({
			Host: new URL(url).host, ...this.#address.headers, ...headers,
		}).map(([name, value]) => `${name}: ${value}\r\n`).join('');
	}

	#connect() {
		const { host, port } = this.#address;

		this.#socket = net.connect({ host, port, noDelay: true, onread: {
			buffer: Buffer.alloc(1 << 18),
			callback: (size, buffer) => {
				if (this.#length + size > ROOM)
					return this.#fail(new Error('too large'));
				buffer.copy(this.#got, this.#length, 0, size);
				this.#length += size;
				this.#look();
			},
		} });
		this.#socket.on('error', (error) => this.#fail(error));
		this.#socket.on('close', () =>
			this.#fail(new Error('the connection ended')));
	}

	#fail(error) {
		this.#socket?.destroy();
		this.#socket = undefined;
		this.#wait?.reject(error);
		this.#wait = undefined;
	}

	/* Is it whole? */
	#look() {
		const got = this.#got.subarray(0, this.#length);
		const end = got.indexOf(END_OF_HEAD);
		if (end < 0 || this.#wait === undefined)
			return;
		const head = got.toString('latin1', 0, end);
		const size = /^content-length: (\d+)$/im.exec(head)?.[1];
		const body = size === undefined
			? this.#chunks(got, end + 4)
			: got.length - end - 4 >= Number(size)
				? got.subarray(end + 4, end + 4 + Number(size))
				: undefined;
		if (body === undefined)
			return;
		const { resolve, reject } = this.#wait;
		this.#wait = undefined;
		if (/^HTTP\/1\.1 2\d\d /.test(head))
			resolve(body);
		else
			reject(new Error(`${head}\n${body.toString('utf8', 0, 500)}`));
	}

	/* What the chunks from ${at} hold; undefined: the last is not there. */
	#chunks(got, at) {
		/* Looked for from its start once the end has the look of one. */
		if (!got.subarray(-5).equals(Buffer.from('0\r\n\r\n')))
			return undefined;
		let size = 0;
		for (;;) {
			const line = got.indexOf('\r\n', at);
			const length = parseInt(got.toString('latin1', at, line), 16);

			if (line < 0 || line + 2 + length > got.length)
				return undefined;
			if (length === 0)
				return this.#body.subarray(0, size);
			got.copy(this.#body, size, line + 2, line + 2 + length);
			size += length;
			at = line + 4 + length;
		}
	}

	/** The body of a 2xx answer, as bytes that the next call overwrites. */
	call(method, path, body = Buffer.alloc(0)) {
		if (this.#socket === undefined)
			this.#connect();
		this.#length = 0;
		return new Promise((resolve, reject) => {
			this.#wait = { resolve, reject };
			this.#socket.cork();
			this.#socket.write(`${method} ${path} HTTP/1.1\r\n` +
				`${this.#headers}Content-Type: application/json\r\n` +
				`Content-Length: ${body.length}\r\n\r\n`);
			this.#socket.write(body);
			this.#socket.uncork();
		});
	}

	close() {
		this.#socket?.removeAllListeners('close');
		this.#socket?.destroy();
	}
}
