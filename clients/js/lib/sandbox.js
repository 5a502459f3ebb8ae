/**
 * The sandbox: a name, and every noun's calls bound to it.
 */
import * as code from './code.js';
import * as command from './exec.js';
import * as file from './files.js';
import * as git from './git.js';
import * as port from './ports.js';
import * as process from './process.js';
import { Transport } from './transport.js';

/**
 * A sandbox of the tenant whose key is used. Nothing is sent until the first
 * call; the first call that changes something makes the sandbox.
 */
export function getSandbox(name, options) {
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

export class Sandbox {
	#transport;
	#path;
	#api;
	#contexts;

	constructor(name, transport) {
		const path = `/v1/sandboxes/${encodeURIComponent(name)}`;

		this.name = name;
		this.#transport = transport;
		this.#path = path;
		this.#api = {
			json: (method, route, ...rest) =>
				transport.json(method, path + route, ...rest),
			stream: (method, route, ...rest) =>
				transport.stream(method, path + route, ...rest),
		};
		this.#contexts = new code.DefaultContexts(this.#api);
	}

	/** Makes the sandbox with settings that differ from the defaults. */
	create(settings = {}) {
		return this.#transport.json('POST', '/v1/sandboxes',
			{ name: this.name, ...settings });
	}

	getInfo() {
		return this.#api.json('GET', '');
	}

	/** What limits and rules refused to it: `[{what, policy, count, lastAt}]`. */
	async getDenials() {
		return (await this.#api.json('GET', '/denials')).denials;
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

	exec(text, options) {
		return command.exec(this.#api, text, options);
	}

	execStream(text, options) {
		return command.execStream(this.#api, text, options);
	}

	startProcess(text, options) {
		return process.startProcess(this.#api, text, options);
	}

	listProcesses(options) {
		return process.listProcesses(this.#api, options);
	}

	getProcess(id) {
		return process.getProcess(this.#api, id);
	}

	killProcess(id, signal, options) {
		return process.killProcess(this.#api, id, signal, options);
	}

	killAllProcesses() {
		return process.killAllProcesses(this.#api);
	}

	getProcessLogs(id) {
		return process.getProcessLogs(this.#api, id);
	}

	streamProcessLogs(id, options) {
		return process.streamProcessLogs(this.#api, id, options);
	}

	createCodeContext(options) {
		return code.createCodeContext(this.#api, options);
	}

	listCodeContexts() {
		return code.listCodeContexts(this.#api);
	}

	deleteCodeContext(id) {
		return code.deleteCodeContext(this.#api, id);
	}

	interruptCodeContext(id) {
		return code.interruptCodeContext(this.#api, id);
	}

	restartCodeContext(id) {
		return code.restartCodeContext(this.#api, id);
	}

	runCode(text, options) {
		return code.runCode(
			this.#api, this.#contexts, text, options);
	}

	runCodeStream(text, options) {
		return code.runCodeStream(
			this.#api, this.#contexts, text, options);
	}

	gitCheckout(repoUrl, options) {
		return git.gitCheckout(this.#api, repoUrl, options);
	}

	writeFile(path, content, options) {
		return file.writeFile(this.#api, path, content, options);
	}

	readFile(path, options) {
		return file.readFile(this.#api, path, options);
	}

	readFileStream(path, options) {
		return file.readFileStream(this.#api, path, options);
	}

	mkdir(path, options) {
		return file.mkdir(this.#api, path, options);
	}

	deleteFile(path) {
		return file.deleteFile(this.#api, path);
	}

	renameFile(oldPath, newPath) {
		return file.renameFile(this.#api, oldPath, newPath);
	}

	moveFile(sourcePath, destinationPath) {
		return file.moveFile(this.#api, sourcePath, destinationPath);
	}

	listFiles(path, options) {
		return file.listFiles(this.#api, path, options);
	}

	exists(path) {
		return file.exists(this.#api, path);
	}

	exposePort(number, options) {
		return port.exposePort(this.#api, number, options);
	}

	unexposePort(number) {
		return port.unexposePort(this.#api, number);
	}

	getExposedPorts() {
		return port.getExposedPorts(this.#api);
	}

	isPortExposed(number) {
		return port.isPortExposed(this.#api, number);
	}
}
