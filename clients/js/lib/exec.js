/**
 * Commands.
 */
import { toBase64 } from './bytes.js';
import { SandboxError } from './error.js';
import { parseSSEStream } from './sse.js';

function requestOf(command, options) {
	const { stdin } = options;

	return {
		command,
		...(options.sessionId && { sessionId: options.sessionId }),
		timeoutMs: options.timeout,
		env: options.env,
		cwd: options.cwd,
		encoding: options.encoding,
		onDisconnect: options.onDisconnect,
		onOutputLimit: options.onOutputLimit,
		/* What is neither is the service's to refuse. */
		...(stdin instanceof Uint8Array
			? { stdinBase64: toBase64(stdin) }
			: { stdin }),
	};
}

const sentWith = ({ signal, idempotencyKey }) => ({ signal, idempotencyKey });

/**
 * Runs a command and waits for its end. Every program that ran gives a
 * result, whatever its exit code; only the service's refusals throw.
 * With `stream: true`, `onOutput(stream, data)` is called as output comes.
 */
export async function exec(api, command, options = {}) {
	try {
		const result = options.stream
			? await execLive(api, command, options)
			: await api.json('POST', '/api/execute',
				requestOf(command, options), sentWith(options));
		options.onComplete?.(result);
		return result;
	} catch (error) {
		options.onError?.(error);
		throw error;
	}
}

/** Starts a command; its events as a stream of bytes for parseSSEStream. */
export function execStream(api, command, options = {}) {
	return api.stream('POST', '/api/execute/stream',
		requestOf(command, options), sentWith(options));
}

async function execLive(api, command, options) {
	const started = Date.now();
	/* Who waits here is gone when the connection is. */
	const stream = await execStream(api, command,
		{ onDisconnect: 'kill', ...options });
	const text = { stdout: '', stderr: '' };
	let truncated = false;
	let end;

	for await (const event of parseSSEStream(stream, options.signal)) {
		if (event.type === 'gap') {
			truncated = true;
		} else if (event.type === 'stdout' || event.type === 'stderr') {
			text[event.type] += event.data;
			options.onOutput?.(event.type, event.data);
		} else if (event.type === 'complete') {
			end = event;
		} else if (event.type === 'error') {
			throw new SandboxError(event.error, {
				code: 'COMMAND_EXECUTION_ERROR',
				context: {
					command,
					reason: event.reason,
					...text,
				},
				timestamp: event.timestamp,
			});
		}
	}
	if (end === undefined)
		throw new SandboxError(
			'The stream ended before the command did',
			{
				code: 'CONNECTION_FAILED',
				context: { command, ...text },
			},
		);
	return {
		success: end.exitCode === 0,
		exitCode: end.exitCode,
		...text,
		command,
		duration: Date.now() - started,
		reason: end.reason,
		...((truncated || end.truncated) && { truncated: true }),
		...(end.limits && { limits: end.limits }),
		timestamp: end.timestamp,
	};
}

/** The shell's words for setting and unsetting variables. */
export function envCommand(vars) {
	const words = Object.entries(vars).map(([name, value]) => {
		if (!/^[A-Za-z_]\w*$/.test(name))
			throw new TypeError(`${name} is no variable's name`);
		return value === null || value === undefined
			? `unset -v ${name}`
			: `export ${name}='${String(value)
				.replaceAll("'", "'\\''")}'`;
	});

	return words.join('\n') || ':';
}
