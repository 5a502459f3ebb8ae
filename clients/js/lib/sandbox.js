/**
 * The sandbox: a name, and every noun's calls bound to it.
 */
import * as backup from './backup.js';
import * as code from './code.js';
import { Calls } from './calls.js';
import { Files } from './raw.js';
import { SandboxError } from './error.js';
import * as session from './session.js';
import { Transport } from './transport.js';

/**
 * A sandbox of the tenant whose key is used. Nothing is sent until the first
 * call; the first call that changes something makes the sandbox.
 */
export function getSandbox(name, options) {
	if (typeof name !== 'string' || name === '')
		throw new SandboxError('A sandbox has a name: give a text',
			{ code: 'VALIDATION_FAILED' });
	return new Sandbox(name, new Transport(options));
}

/** The tenant's sandboxes: `{sandboxes, next?}`. */
export function listSandboxes({ state, after, limit, ...options } = {}) {
	const query = new URLSearchParams();

	for (const [key, value] of Object.entries({ state, after, limit }))
		if (value !== undefined)
			query.set(key, value);
	const text = String(query);
	return new Transport(options)
		.json('GET', '/v1/sandboxes' + (text && `?${text}`));
}

/** The tenant's backups: `{backups, next?, usedBytes, limitBytes}`. */
export function listBackups({ sandbox, after, limit, ...options } = {}) {
	return backup.listBackups(new Transport(options), '/v1/backups',
		{ sandbox, after, limit });
}

export function getBackup(id, options) {
	return backup.getBackup(new Transport(options), id);
}

export function deleteBackup(id, options) {
	return backup.deleteBackup(new Transport(options), id);
}

export class Sandbox extends Calls {
	#transport;
	#api;
	#contexts;

	constructor(name, transport) {
		const path = `/v1/sandboxes/${encodeURIComponent(name)}`;
		const api = {
			json: (method, route, ...rest) =>
				transport.json(method, path + route, ...rest),
			stream: (method, route, ...rest) =>
				transport.stream(method, path + route, ...rest),
			raw: (method, route, ...rest) =>
				transport.raw(method, path + route, ...rest),
		};
		const contexts = new code.DefaultContexts(api);

		super(api, contexts);
		this.name = name;
		/** Bytes, archives, links, and what else files need. */
		this.files = new Files(api);
		this.#transport = transport;
		this.#api = api;
		this.#contexts = contexts;
	}

	/** Makes the sandbox with settings that differ from the defaults. */
	create(settings = {}) {
		return this.#transport.json('POST', '/v1/sandboxes',
			{ name: this.name, ...settings });
	}

	getInfo() {
		return this.#api.json('GET', '');
	}

	/**
	 * Other settings than it was made with: `sleepAfter`, `stopAfter`,
	 * `deleteAfter`, `keepAlive`, `labels`. They hold at once.
	 */
	update(settings) {
		return this.#api.json('PATCH', '', settings);
	}

	/** "10m", or seconds; 0 is never. */
	setSleepAfter(sleepAfter) {
		return this.update({
			sleepAfter: typeof sleepAfter === 'number'
				? `${Math.round(sleepAfter * 1000)}ms` : sleepAfter,
		});
	}

	/** It counts as in use, whatever happens. */
	setKeepAlive(keepAlive) {
		return this.update({ keepAlive });
	}

	/**
	 * All in it stops; the next call or preview hit goes on with it.
	 * Where calls run it is RESOURCE_BUSY, without `force`.
	 */
	sleep({ force } = {}) {
		return this.#api.json('POST', '/sleep', { force });
	}

	/** It runs, be it asleep or stopped before. */
	wake() {
		return this.#api.json('POST', '/wake');
	}

	/** All that runs in it ends; its files stay. */
	stop() {
		return this.#api.json('POST', '/stop');
	}

	start() {
		return this.#api.json('POST', '/start');
	}

	/** It is used now: what becomes of it unused is put off. */
	touch() {
		return this.#api.json('POST', '/touch');
	}

	/** What limits and rules refused to it: `[{what, policy, count, lastAt}]`. */
	async getDenials() {
		return (await this.#api.json('GET', '/denials')).denials;
	}

	/** Backups that were made of it. */
	listBackups(options) {
		return backup.listBackups(this.#api, '/backups', options);
	}

	/** Ends all that runs in it and removes its files. */
	async destroy() {
		await this.#api.json('DELETE', '');
	}

	ping() {
		return this.#api.json('GET', '/api/ping');
	}

	async getVersion() {
		return (await this.#api.json('GET', '/api/version')).version;
	}

	/**
	 * A session: a shell whose directory, variables and functions stay
	 * from call to call. Commands in one run one after another.
	 */
	createSession(options) {
		return session.createSession(
			this.#api, this.#contexts, options);
	}

	getSession(id) {
		return session.getSession(this.#api, this.#contexts, id);
	}

	listSessions() {
		return session.listSessions(this.#api);
	}

	deleteSession(id) {
		return session.deleteSession(this.#api, id);
	}
}
