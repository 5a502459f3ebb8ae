/**
 * Every noun's calls, bound to a sandbox or to a session in it.
 */
import * as backup from './backup.js';
import * as code from './code.js';
import * as command from './exec.js';
import * as file from './files.js';
import * as git from './git.js';
import * as port from './ports.js';
import * as process from './process.js';
import * as terminal from './terminal.js';
import * as watching from './watch.js';

export class Calls {
	#api;
	#contexts;

	constructor(api, contexts) {
		this.#api = api;
		this.#contexts = contexts;
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

	signalProcess(id, signal) {
		return process.signalProcess(this.#api, id, signal);
	}

	killAllProcesses() {
		return process.killAllProcesses(this.#api);
	}

	/** Removes finished ones from the list; how many there were. */
	cleanupCompletedProcesses() {
		return process.cleanupCompletedProcesses(this.#api);
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

	gitPull(options) {
		return git.gitPull(this.#api, options);
	}

	gitPush(options) {
		return git.gitPush(this.#api, options);
	}

	gitStatus(options) {
		return git.gitStatus(this.#api, options);
	}

	gitLog(options) {
		return git.gitLog(this.#api, options);
	}

	gitDiff(options) {
		return git.gitDiff(this.#api, options);
	}

	gitBranches(options) {
		return git.gitBranches(this.#api, options);
	}

	gitCreateBranch(name, options) {
		return git.gitCreateBranch(this.#api, name, options);
	}

	gitSwitch(name, options) {
		return git.gitSwitch(this.#api, name, options);
	}

	gitCommit(message, options) {
		return git.gitCommit(this.#api, message, options);
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

	watch(path, options) {
		return watching.watch(this.#api, path, options);
	}

	checkChanges(path, options) {
		return watching.checkChanges(this.#api, path, options);
	}

	createBackup(options) {
		return backup.createBackup(this.#api, options);
	}

	restoreBackup(stored, options) {
		return backup.restoreBackup(this.#api, stored, options);
	}

	exposePort(number, options) {
		return port.exposePort(this.#api, number, options);
	}

	unexposePort(number) {
		return port.unexposePort(this.#api, number);
	}

	namePort(number, name, options) {
		return port.namePort(this.#api, number, name, options);
	}

	unnamePort(number, name) {
		return port.unnamePort(this.#api, number, name);
	}

	changePort(number, changes) {
		return port.changePort(this.#api, number, changes);
	}

	linkPort(number, options) {
		return port.linkPort(this.#api, number, options);
	}

	getExposedPorts() {
		return port.getExposedPorts(this.#api);
	}

	isPortExposed(number) {
		return port.isPortExposed(this.#api, number);
	}

	createTerminal(options) {
		return terminal.createTerminal(this.#api, options);
	}

	terminalTicket(options) {
		return terminal.terminalTicket(this.#api, options);
	}

	openTerminal(options) {
		return terminal.openTerminal(this.#api, options);
	}

	/** Sets variables for all later commands; null or undefined unsets. */
	async setEnvVars(vars) {
		await command.exec(this.#api, command.envCommand(vars));
	}
}
