/**
 * The calls that the rows measure, on the wire.
 */
import { randomBytes } from 'node:crypto';

import { Connection } from './connection.mjs';
import { Lean } from './lean.mjs';

export class Service {
	#connection;
	#lean;

	constructor({ url, apiKey }) {
		const headers = { Authorization: `Bearer ${apiKey}` };

		this.#connection = new Connection(url, headers);
		this.#lean = new Lean(url, headers);
	}

	sandbox() {
		const name = `bench-${randomBytes(6).toString('hex')}`;

		return new Sandbox(this.#connection, this.#lean,
			`/v1/sandboxes/${name}`);
	}

	close() {
		this.#connection.close();
		this.#lean.close();
	}
}

class Sandbox {
	#connection;
	#lean;
	#path;

	constructor(connection, lean, path) {
		this.#connection = connection;
		this.#lean = lean;
		this.#path = path;
	}

	/** A call whose body is JSON already; the answer's bytes, as they are. */
	bytes(route, body) {
		return this.#lean.call('POST', `${this.#path}/api/${route}`, body);
	}

	async #post(route, body) {
		return JSON.parse(await this.#connection.send('POST',
			`${this.#path}/api/${route}`, body));
	}

	ping() {
		return this.#connection.send('GET', `${this.#path}/api/ping`);
	}

	async exec(command, sessionId = '__DISABLE_SESSION__') {
		const result = await this.#post('execute',
			{ command, sessionId });

		if (result.exitCode !== 0)
			throw new Error(`${command}: ${result.stderr}`);
	}

	start(command, more = {}) {
		return this.#post('process/start', { command, ...more });
	}

	feed(id, data) {
		return this.#post(`process/${id}/stdin`, { data });
	}

	/** Events of a directory, as text. */
	watch(path) {
		return this.#connection.open('POST', `${this.#path}/api/watch`,
			{ path });
	}

	async newContext(language) {
		const { contextId } = await this.#post('contexts', { language });

		return contextId;
	}

	dropContext(id) {
		return this.#connection.send('DELETE',
			`${this.#path}/api/contexts/${id}`);
	}

	/** Runs code to its end; it must give what ${expected} matches. */
	async run(id, code, expected) {
		const text = await this.#connection.send('POST',
			`${this.#path}/api/execute/code`,
			{ context_id: id, code });

		if (!text.includes('"execution_complete"') ||
		    !expected.test(text))
			throw new Error(`unexpected answer: ${text.slice(0, 500)}`);
	}

	write(path, content) {
		return this.#post('write', { path, content });
	}

	put(path, bytes, times) {
		return this.#connection.transfer('PUT',
			`${this.#path}/files/${path}`, bytes, times);
	}

	get(path) {
		return this.#connection.transfer('GET',
			`${this.#path}/files/${path}`);
	}

	checkout(repoUrl, targetDir) {
		return this.#post('git/checkout', { repoUrl, targetDir });
	}

	expose(port) {
		return this.#post('ports', { port });
	}

	/** When it answers, nothing in it runs. */
	async sleep() {
		const { state } = JSON.parse(await this.#connection.send('POST',
			`${this.#path}/sleep`, {}));

		if (state !== 'sleeping')
			throw new Error(`not asleep: ${state}`);
	}

	async status() {
		return JSON.parse(await this.#connection.send('GET', this.#path));
	}

	destroy() {
		return this.#connection.send('DELETE', this.#path);
	}
}
