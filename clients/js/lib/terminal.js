/**
 * Terminals: a shell that stays, and WebSockets that show it.
 */
import { SandboxError } from './error.js';

const encoder = new TextEncoder();

/** Starts a terminal, or finds the one of that id: `{id, pid, created}`. */
export function createTerminal(api, options = {}) {
	return api.json('POST', '/api/terminal', options);
}

/** A URL for one WebSocket, which needs no key: `{url, id, expiresAt}`. */
export function terminalTicket(api, { id, sessionId, ttl } = {}) {
	return api.json('POST', '/api/terminal/ticket', { id, sessionId, ttl });
}

/**
 * A viewer of a terminal, by a ticket of its own. Events, as `event.detail`:
 * `data` (Uint8Array), `ready` (what was there has been told), `dropped`, `exit`
 * (`{code, reason}`), `error` (a text), `close` (the WebSocket's code).
 */
export class Terminal extends EventTarget {
	#socket;

	constructor(id, socket) {
		super();
		this.id = id;
		this.#socket = socket;
		socket.binaryType = 'arraybuffer';
		socket.addEventListener('message', ({ data }) => this.#take(data));
		socket.addEventListener('close',
			({ code }) => this.#tell('close', code));
	}

	/** Keys: a text, or bytes. */
	write(keys) {
		this.#socket.send(typeof keys === 'string'
			? encoder.encode(keys) : keys);
	}

	resize(cols, rows) {
		this.#socket.send(JSON.stringify({ type: 'resize', cols, rows }));
	}

	/** Look away: the terminal goes on. */
	close() {
		this.#socket.close(1000);
	}

	#take(data) {
		if (typeof data !== 'string') {
			this.#tell('data', new Uint8Array(data));
			return;
		}
		const { type, message, ...rest } = JSON.parse(data);
		this.#tell(type, message ?? rest);
	}

	#tell(type, detail) {
		this.dispatchEvent(new CustomEvent(type, { detail }));
	}
}

/** Resolves once the WebSocket is open, before `ready`. */
export async function openTerminal(api, options = {}) {
	const Socket = options.WebSocket ?? globalThis.WebSocket;

	if (Socket === undefined)
		throw new SandboxError('This runtime has no WebSocket: give one ' +
			'as the option WebSocket', { code: 'VALIDATION_FAILED' });
	const { id, sessionId, WebSocket, ...query } = options;
	const ticket = await terminalTicket(api, { id, sessionId });
	const url = new URL(ticket.url);
	for (const [key, value] of Object.entries(query))
		if (value !== undefined)
			url.searchParams.set(key, value);
	if (sessionId !== undefined)
		url.searchParams.set('session', sessionId);
	const socket = new Socket(url.href);
	const terminal = new Terminal(ticket.id, socket);
	await new Promise((resolve, reject) => {
		socket.addEventListener('open', resolve, { once: true });
		socket.addEventListener('close', () => reject(new SandboxError(
			'The terminal could not be opened',
			{ code: 'SERVICE_UNAVAILABLE' })), { once: true });
		socket.addEventListener('error', () => {});
	});
	return terminal;
}
