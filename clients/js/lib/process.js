/**
 * Background processes.
 */
import { toBase64 } from './bytes.js';
import { parseSSEStream } from './sse.js';

const WAIT_MAX_MS = 240_000;

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
		if (row.sessionId !== undefined)
			this.sessionId = row.sessionId;
		if (row.error !== undefined)
			this.error = row.error;
		if (row.droppedBytes !== undefined)
			this.droppedBytes = row.droppedBytes;
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
		this.droppedBytes = now.droppedBytes;
		return now.status;
	}

	getLogs() {
		return getProcessLogs(this.#api, this.id);
	}

	/** Writes to its input; it was started with `openStdin`. */
	async writeStdin(data, { close = false } = {}) {
		await this.#api.json('POST', `${pathOf(this.id)}/stdin`, {
			...(typeof data === 'string'
				? { data }
				: { dataBase64: toBase64(data) }),
			close,
		});
	}

	async closeStdin() {
		await this.#api.json('DELETE', `${pathOf(this.id)}/stdin`);
	}

	/** Sends a signal, by name or number, to all of it. */
	signal(signal) {
		return signalProcess(this.#api, this.id, signal);
	}

	/**
	 * Waits for the end: `{exitCode, reason}`. Throws
	 * PROCESS_READY_TIMEOUT when ${timeout} milliseconds are over.
	 */
	async waitForExit(timeout) {
		const { exitCode, reason } = await this.#wait(
			{ for: 'exit' }, timeout);

		return { exitCode, reason };
	}

	/**
	 * Waits until a line of the output, which starts with what was
	 * printed before the call, holds ${pattern} (text or RegExp):
	 * `{line, stream, match?}`.
	 */
	async waitForLog(pattern, timeout) {
		const log = typeof pattern === 'string'
			? { text: pattern }
			: { regex: pattern.source, flags: pattern.flags };
		const { line, stream, match } = await this.#wait(
			{ for: 'log', log }, timeout);

		return { line, stream, ...(match && { match }) };
	}

	/**
	 * Waits until the port answers: a connection (`mode: 'tcp'`), or GET
	 * of `path` with a `status` (a number or {min, max}; 200 to 399).
	 */
	async waitForPort(port, { timeout, mode, path, status, interval } = {}) {
		await this.#wait({
			for: 'port',
			port: { port, mode, path, status, interval },
		}, timeout);
	}

	/* fetch gives up on an answer after five minutes: ask again before. */
	async #wait(what, timeout = Infinity) {
		const until = Date.now() + timeout;

		for (;;) {
			const left = until - Date.now();
			const timeoutMs = Math.max(0,
				Math.min(Math.ceil(left), WAIT_MAX_MS));
			try {
				return await this.#api.json('POST',
					`${pathOf(this.id)}/wait`,
					{ ...what, timeoutMs });
			} catch (error) {
				if (error.code !== 'PROCESS_READY_TIMEOUT' ||
				    Date.now() >= until)
					throw error;
			}
		}
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
			openStdin: options.openStdin,
			onOutputLimit: options.onOutputLimit,
			...(options.sessionId &&
				{ sessionId: options.sessionId }),
		}, {
			signal: options.signal,
			idempotencyKey: options.idempotencyKey,
		});
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

export async function signalProcess(api, id, signal) {
	await api.json('POST', `${pathOf(id)}/signal`, { signal });
}

export async function cleanupCompletedProcesses(api) {
	const answer = await api.json('DELETE', '/api/process/completed');

	return answer.cleanedCount;
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
export function streamProcessLogs(api, id, { signal, after } = {}) {
	const query = after === undefined ? '' : `?after=${after}`;

	return api.stream('GET', `${pathOf(id)}/stream${query}`, undefined,
		{ signal });
}
