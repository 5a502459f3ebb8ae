/**
 * HTTP below all nouns: the address, the key, JSON in and out, errors.
 */
import { SandboxError } from './error.js';

const DEFAULT_URL = 'http://localhost:8080';

export class Transport {
	#base;
	#apiKey;
	#fetch;

	constructor({ url, apiKey, fetch } = {}) {
		const env = globalThis.process?.env ?? {};

		this.#base = (url ?? env.WARREN_URL ?? DEFAULT_URL)
			.replace(/\/+$/, '');
		this.#apiKey = apiKey ?? env.WARREN_API_KEY;
		this.#fetch = fetch ?? globalThis.fetch.bind(globalThis);
		if (!this.#apiKey)
			throw new SandboxError(
				'No API key: give apiKey or set WARREN_API_KEY',
				{ code: 'MISSING_CREDENTIALS' },
			);
	}

	/** One call whose answer is JSON (undefined for 204). */
	async json(method, path, body, options = {}) {
		const { signal } = options;
		const response = await this.#send(
			method, path, body, 'application/json', options);

		try {
			if (response.status === 204)
				return undefined;
			return await response.json();
		} catch (cause) {
			signal?.throwIfAborted();
			throw new SandboxError('The answer broke off', {
				code: cause instanceof SyntaxError
					? 'INVALID_JSON_RESPONSE'
					: 'CONNECTION_FAILED',
				cause,
			});
		}
	}

	/** One call whose answer is a stream of events, as bytes. */
	async stream(method, path, body, options = {}) {
		const response = await this.#send(
			method, path, body, 'text/event-stream', options);

		return response.body;
	}

	/** One call with bytes: `{headers, body, signal}`; the response. */
	raw(method, path, { headers, body, signal } = {}) {
		return this.#fetched(path, {
			method,
			headers: headers ?? {},
			body,
			signal,
			...(typeof body?.getReader === 'function' &&
				{ duplex: 'half' }),
		});
	}

	#send(method, path, body, accept, options) {
		const { signal, idempotencyKey } = options;
		const headers = { Accept: accept };

		if (idempotencyKey !== undefined)
			headers['Idempotency-Key'] = idempotencyKey;
		if (body !== undefined)
			headers['Content-Type'] = 'application/json';
		return this.#fetched(path, {
			method,
			headers,
			body: body && JSON.stringify(body),
			signal,
		});
	}

	async #fetched(path, request) {
		const { signal } = request;
		let response;

		request.headers.Authorization = `Bearer ${this.#apiKey}`;
		try {
			response = await this.#fetch(this.#base + path, request);
		} catch (cause) {
			signal?.throwIfAborted();
			throw new SandboxError(
				`Cannot reach ${this.#base}: ` +
				`${cause.cause?.message || cause.message}`,
				{ code: 'CONNECTION_FAILED', cause },
			);
		}
		if (!response.ok)
			throw await SandboxError.fromResponse(response);
		return response;
	}
}
