/**
 * Plain HTTP for what fetch cannot do: a Host header of our choice (names
 * below localhost do not resolve in Node), broken bodies, broken clients.
 */
import http from 'node:http';

/** Where a URL is reached: names below localhost are this machine. */
export function addressOf(url) {
	const { hostname, port, host } = new URL(url);
	const local = hostname === 'localhost' ||
		hostname.endsWith('.localhost');

	return {
		host: local ? '127.0.0.1' : hostname,
		port: port || 80,
		headers: { Host: host },
	};
}

/**
 * Opens a request; resolves with the response at its head. The body is a
 * string, bytes, or nothing.
 */
export function open(url, options = {}) {
	const { pathname, search } = new URL(url);
	const { host, port, headers } = addressOf(url);

	return new Promise((resolve, reject) => {
		const request = http.request({
			host,
			port,
			path: options.path ?? pathname + search,
			method: options.method ?? 'GET',
			headers: { ...headers, ...options.headers },
			agent: options.agent ?? false,
			signal: options.signal,
		}, resolve);
		request.on('error', reject);
		request.end(options.body);
	});
}

/** A whole exchange: `{status, headers, bytes, text}`. */
export async function fetchRaw(url, options = {}) {
	const response = await open(url, options);
	const chunks = [];

	for await (const chunk of response)
		chunks.push(chunk);
	const bytes = Buffer.concat(chunks);
	return {
		status: response.statusCode,
		headers: response.headers,
		bytes,
		text: bytes.toString(),
	};
}
