/**
 * Background processes.
 */
import { SandboxError } from './error.js';
import { parseSSEStream } from './sse.js';

const pathOf = (id) => `/api/process/${encodeURIComponent(id)}`;

/** What is known of a process, and the calls that need only its id. */
export class Process {
	#api;

	constructor(api, row) {
		this.#api = api;
		this.id = row.id;
		this.pid = row.pid;
		this.command = row.command;
		this.status = row.status;
		this.startTime = new Date(row.startTime);
		if (row.endTime !== undefined)
			this.endTime = new Date(row.endTime);
		if (row.exitCode !== undefined)
			this.exitCode = row.exitCode;
		if (row.reason !== undefined)
			this.reason = row.reason;
		if (row.limits !== undefined)
			this.limits = row.limits;
	}

	kill(signal, options) {
		return killProcess(this.#api, this.id, signal, options);
	}

	/** The status as of now; also kept in `status`. */
	async getStatus() {
		const now = await getProcess(this.#api, this.id);

		if (now === null)
			return this.status;
		this.status = now.status;
		this.exitCode = now.exitCode;
		this.endTime = now.endTime;
		this.reason = now.reason;
		this.limits = now.limits;
		return now.status;
	}

	getLogs() {
		return getProcessLogs(this.#api, this.id);
	}

	/**
	 * Waits for the end: `{exitCode, reason}`. Throws
	 * PROCESS_READY_TIMEOUT when ${timeout} milliseconds are over.
	 */
	async waitForExit(timeout) {
		const end = await this.#follow(
			timeout, 'to exit', (e) => e.type === 'exit' && e);

		return { exitCode: end.exitCode, reason: end.reason };
	}

	/**
	 * Waits until a line of the output, which starts with what was
	 * printed before the call, holds ${pattern} (text or RegExp):
	 * `{line, stream}`.
	 */
	waitForLog(pattern, timeout) {
		const open = { stdout: '', stderr: '' };
		const match = typeof pattern === 'string'
			? (line) => line.includes(pattern)
			: (line) => line.search(pattern) >= 0;

		return this.#follow(timeout, `to print ${pattern}`, (event) => {
			const stream = event.type;
			if (!(stream in open))
				return undefined;
			const lines = (open[stream] + event.data).split('\n');
			open[stream] = lines.at(-1);
			const line = lines.find(match);
			return line !== undefined && { line, stream };
		});
	}

	async #follow(timeout, what, wanted) {
		const context = { processId: this.id, command: this.command };
		const stop = new AbortController();
		const timer = timeout !== undefined && setTimeout(() => {
			stop.abort(new SandboxError(
				`Timeout: process ${this.id} did not become ` +
				`ready (${what}) within ${timeout}ms`,
				{
					code: 'PROCESS_READY_TIMEOUT',
					httpStatus: 408,
					context: { ...context, timeout },
				}));
		}, timeout);
		const { signal } = stop;

		try {
			const stream = await streamProcessLogs(
				this.#api, this.id, { signal });
			for await (const e of parseSSEStream(stream, signal)) {
				const found = wanted(e);
				if (found)
					return found;
				if (e.type === 'exit')
					throw new SandboxError(
						`Process ${this.id} exited ` +
						`with ${e.exitCode} before it ` +
						`was seen ${what}`,
						{
							code: 'PROCESS_EXITED_BEFORE_READY',
							httpStatus: 500,
							context: {
								...context,
								exitCode: e.exitCode,
							},
						});
			}
		} finally {
			clearTimeout(timer);
		}
		throw new SandboxError(
			'The log stream ended before the process did',
			{ code: 'CONNECTION_FAILED', context });
	}
}

export async function startProcess(api, command, options = {}) {
	let started;

	try {
		const answer = await api.json('POST', '/api/process/start', {
			command,
			processId: options.processId,
			timeoutMs: options.timeout,
			env: options.env,
			cwd: options.cwd,
			encoding: options.encoding,
			autoCleanup: options.autoCleanup,
		}, { signal: options.signal });
		started = new Process(api, {
			id: answer.processId,
			pid: answer.pid,
			command: answer.command,
			status: 'running',
			startTime: answer.timestamp,
		});
	} catch (error) {
		options.onError?.(error);
		throw error;
	}
	options.onStart?.(started);
	if (options.onOutput || options.onExit)
		report(api, started, options).catch(
			(error) => options.onError?.(error));
	return started;
}

async function report(api, process, { onOutput, onExit, signal }) {
	const stream = await streamProcessLogs(api, process.id, { signal });

	for await (const event of parseSSEStream(stream, signal)) {
		if (event.type === 'stdout' || event.type === 'stderr')
			onOutput?.(event.type, event.data);
		else if (event.type === 'exit')
			onExit?.(event.exitCode);
	}
}

export async function listProcesses(api, { status } = {}) {
	const query = status ? `?status=${encodeURIComponent(status)}` : '';
	const answer = await api.json('GET', `/api/process/list${query}`);

	return answer.processes.map((row) => new Process(api, row));
}

/** The process, or null when the sandbox knows none of that id. */
export async function getProcess(api, id) {
	try {
		const answer = await api.json('GET', pathOf(id));
		return new Process(api, answer.process);
	} catch (error) {
		if (error.code === 'PROCESS_NOT_FOUND')
			return null;
		throw error;
	}
}

/**
 * Ends a process and all that it started: ${signal} (SIGTERM), and SIGKILL
 * to what is left after `graceMs`.
 */
export async function killProcess(api, id, signal, { graceMs } = {}) {
	const query = new URLSearchParams();

	if (signal !== undefined)
		query.set('signal', signal);
	if (graceMs !== undefined)
		query.set('graceMs', graceMs);
	const text = String(query);
	await api.json('DELETE', pathOf(id) + (text && `?${text}`));
}

/**
 * Ends all that run, and what commands left running behind them; how many
 * that were.
 */
export async function killAllProcesses(api) {
	const answer = await api.json('DELETE', '/api/process/kill-all');

	return answer.cleanedCount;
}

/**
 * What was printed so far. `truncated`: the log is bounded, and
 * `droppedBytes` of the output are not in it any more.
 */
export async function getProcessLogs(api, id) {
	const { processId, stdout, stderr, truncated = false, droppedBytes = 0 } =
		await api.json('GET', `${pathOf(id)}/logs`);

	return { processId, stdout, stderr, truncated, droppedBytes };
}

/** What was printed and what will be, as bytes for parseSSEStream. */
export function streamProcessLogs(api, id, { signal } = {}) {
	return api.stream('GET', `${pathOf(id)}/stream`, undefined,
		{ signal });
}
