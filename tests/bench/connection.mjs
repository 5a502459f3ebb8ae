/**
 * HTTP with kept connections and as little of the client's own cost as Node
 * allows: fetch alone would be a good part of the small rows.
 */
import http from 'node:http';

import { addressOf } from '../e2e/lib/http.mjs';

export class Connection {
	#agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
	#address;
	#headers;

	constructor(url, headers = {}) {
		this.#address = addressOf(url);
		this.#headers = { ...this.#address.headers, ...headers };
	}

	/** A whole exchange; the answer's text. Throws unless it is 2xx. */
	send(method, path, body) {
		const text = body === undefined
			? undefined
			: JSON.stringify(body);
		const headers = text === undefined
			? this.#headers
			: {
				...this.#headers,
				'Content-Type': 'application/json',
				'Content-Length': Buffer.byteLength(text),
			};

		return new Promise((resolve, reject) => {
			const request = http.request({
				agent: this.#agent,
				host: this.#address.host,
				port: this.#address.port,
				method,
				path,
				headers,
			}, (response) => receive(response, resolve, reject));
			request.on('error', reject);
			request.end(text);
		});
	}

	/** The answer as it comes, for the reader to end. */
	open(method, path, body) {
		const text = JSON.stringify(body);

		return new Promise((resolve, reject) => {
			const request = http.request({
				host: this.#address.host,
				port: this.#address.port,
				method,
				path,
				headers: {
					...this.#headers,
					'Content-Type': 'application/json',
					'Content-Length': Buffer.byteLength(text),
				},
			}, resolve);
			request.on('error', reject);
			request.end(text);
		});
	}

	/** Sends ${body}, bytes, ${times} times over; what comes back is counted
	 * and dropped. */
	transfer(method, path, body, times = 1) {
		return new Promise((resolve, reject) => {
			const request = http.request({
				agent: this.#agent,
				host: this.#address.host,
				port: this.#address.port,
				method,
				path,
				headers: body === undefined ? this.#headers : {
					...this.#headers,
					'Content-Length': body.length * times,
				},
			}, (response) => {
				let bytes = 0;
				response.on('data', ({ length }) => { bytes += length; });
				response.on('error', reject);
				response.on('end', () => response.statusCode < 300
					? resolve(bytes)
					: reject(new Error(String(response.statusCode))));
			});
			request.on('error', reject);
			send(request, body, times);
		});
	}

	close() {
		this.#agent.destroy();
	}
}

/* One after the other: nothing more is in memory than the one. */
function send(request, body, times) {
	if (times > 1)
		request.write(body, () => send(request, body, times - 1));
	else
		request.end(body);
}

function receive(response, resolve, reject) {
	const chunks = [];

	response.on('data', (chunk) => chunks.push(chunk));
	response.on('error', reject);
	response.on('end', () => {
		const text = Buffer.concat(chunks).toString();
		if (response.statusCode >= 300)
			reject(new Error(
				`${response.statusCode}: ${text.slice(0, 300)}`));
		else
			resolve(text);
	});
}
