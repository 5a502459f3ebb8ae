/**
 * Code contexts and code runs.
 */
import { SandboxError } from './error.js';
import { parseSSEStream } from './sse.js';

const FORMATS = ['text', 'html', 'markdown', 'svg', 'png', 'jpeg', 'pdf',
	'latex', 'json', 'javascript', 'chart', 'data'];

/** One value in all the forms that it has. Pictures are base64. */
export class Result {
	constructor(event) {
		const { type, ...forms } = event;

		Object.assign(this, forms);
	}

	formats() {
		return FORMATS.filter((form) => this[form] !== undefined);
	}
}

/** What came of one run. */
export class Execution {
	constructor(code) {
		this.code = code;
		this.logs = { stdout: [], stderr: [] };
		this.results = [];
		this.error = undefined;
		this.executionCount = undefined;
		/** Why it ended; `exited` for a run that came to its end. */
		this.reason = undefined;
		this.limits = undefined;
		/** Whether the context still has its variables: kept or lost. */
		this.state = undefined;
	}
}

export async function createCodeContext(api, options = {}) {
	const { language = 'python', cwd, envVars, timeout } = options;
	const answer = await api.json('POST', '/api/contexts', {
		language,
		cwd,
		env_vars: envVars,
		timeout_ms: timeout,
	}, { signal: options.signal });
	const now = new Date(answer.timestamp);

	return {
		id: answer.contextId,
		language: answer.language,
		cwd: answer.cwd,
		createdAt: now,
		lastUsed: now,
	};
}

export async function listCodeContexts(api) {
	const { contexts } = await api.json('GET', '/api/contexts');

	return contexts.map((row) => {
		const context = { ...row };
		for (const field of ['createdAt', 'lastUsed'])
			if (row[field] !== undefined)
				context[field] = new Date(row[field]);
		return context;
	});
}

export async function deleteCodeContext(api, id) {
	await api.json('DELETE', `/api/contexts/${encodeURIComponent(id)}`);
}

const contextCall = (api, id, what) => api.json('POST',
	`/api/contexts/${encodeURIComponent(id)}/${what}`);

/** Stops what runs in it: `{state}`, whether its variables were kept. */
export const interruptCodeContext = (api, id) =>
	contextCall(api, id, 'interrupt');

/** A fresh interpreter in place of the old one: `{state}`. */
export const restartCodeContext = (api, id) =>
	contextCall(api, id, 'restart');

/**
 * The contexts that runCode makes for callers who name none: one for each
 * language and sandbox object.
 */
export class DefaultContexts {
	#api;
	#made = new Map();

	constructor(api) {
		this.#api = api;
	}

	async get(language) {
		if (!this.#made.has(language))
			this.#made.set(language,
				createCodeContext(this.#api, { language }));
		try {
			return await this.#made.get(language);
		} catch (error) {
			this.#made.delete(language);
			throw error;
		}
	}

	forget(language) {
		this.#made.delete(language);
	}
}

function openRun(api, contextId, code, options) {
	return api.stream('POST', '/api/execute/code', {
		context_id: contextId,
		code,
		language: options.language,
		timeout_ms: options.timeout,
		env_vars: options.envVars,
		cwd: options.cwd,
		stdin: options.stdin,
		onDisconnect: options.onDisconnect,
	}, { signal: options.signal, idempotencyKey: options.idempotencyKey });
}

/** Starts a run; its events as a stream of bytes for parseSSEStream. */
export async function runCodeStream(api, defaults, code, options = {}) {
	const { context, language = 'python' } = options;

	if (context !== undefined)
		return openRun(api, context.id ?? context, code, options);
	const own = await defaults.get(language);
	try {
		return await openRun(api, own.id, code, options);
	} catch (error) {
		if (error.code !== 'CONTEXT_NOT_FOUND')
			throw error;
		/* Someone deleted it since: it never ran, so run it anew. */
		defaults.forget(language);
		const fresh = await defaults.get(language);
		return openRun(api, fresh.id, code, options);
	}
}

const HANDLERS = {
	stdout(execution, event, options) {
		execution.logs.stdout.push(event.text);
		return options.onStdout?.(outputOf(event));
	},
	stderr(execution, event, options) {
		execution.logs.stderr.push(event.text);
		return options.onStderr?.(outputOf(event));
	},
	result(execution, event, options) {
		const result = new Result(event);
		execution.results.push(result);
		return options.onResult?.(result);
	},
	error(execution, event, options) {
		execution.error = {
			name: event.ename,
			message: event.evalue,
			traceback: event.traceback,
		};
		return options.onError?.(execution.error);
	},
	execution_complete(execution, event) {
		execution.executionCount = event.execution_count;
		execution.reason = event.reason;
		execution.limits = event.limits;
		execution.state = event.state;
	},
};

function outputOf({ text, timestamp }) {
	return {
		text,
		timestamp: timestamp === undefined
			? Date.now()
			: Date.parse(timestamp),
	};
}

/**
 * Runs code and waits for its end. The callbacks are called, and awaited,
 * as events come. An error that the code raised is in `error`; it does not
 * throw.
 */
export async function runCode(api, defaults, code, options = {}) {
	const execution = new Execution(code);
	const stream = await runCodeStream(api, defaults, code, options);
	let ended = false;

	for await (const event of parseSSEStream(stream, options.signal)) {
		if (Object.hasOwn(HANDLERS, event.type))
			await HANDLERS[event.type](execution, event, options);
		ended ||= event.type === 'execution_complete';
	}
	if (!ended)
		throw new SandboxError('The stream ended before the run did', {
			code: 'CONNECTION_FAILED',
			context: { execution },
		});
	return execution;
}
