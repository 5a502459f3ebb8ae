/**
 * Server-sent events, read from a ReadableStream of bytes.
 *
 * Chunks may be cut anywhere: inside a character, between CR and LF, inside
 * a field. Lines end with LF, CRLF or CR. Comments (the heartbeat) and
 * fields that nobody asked for are dropped.
 */
import { SandboxError } from './error.js';

/**
 * Splits text that comes in pieces into lines. A piece is looked at once, so
 * a line of many megabytes costs no more than its length.
 */
class LineSplitter {
	#pieces = [];
	#afterCR = false;

	*push(text) {
		let start = 0;

		if (this.#afterCR && text.length > 0) {
			this.#afterCR = false;
			if (text[0] === '\n')
				start = 1;
		}
		const ends = /[\r\n]/g;
		ends.lastIndex = start;
		for (let m; (m = ends.exec(text)) !== null; ) {
			this.#pieces.push(text.slice(start, m.index));
			start = m.index + 1;
			if (m[0] === '\r') {
				if (start === text.length)
					this.#afterCR = true;
				else if (text[start] === '\n')
					start++;
			}
			ends.lastIndex = start;
			yield this.rest();
		}
		if (start < text.length)
			this.#pieces.push(text.slice(start));
	}

	rest() {
		const line = this.#pieces.join('');
		this.#pieces = [];
		return line;
	}
}

/** Collects the fields of one event. */
class FrameBuilder {
	#data = [];
	#event;
	#id;

	/** Returns the finished frame at an empty line, else undefined. */
	line(line) {
		if (line === '')
			return this.finish();
		const colon = line.indexOf(':');
		const name = colon < 0 ? line : line.slice(0, colon);
		let value = colon < 0 ? '' : line.slice(colon + 1);
		if (value.startsWith(' '))
			value = value.slice(1);
		if (name === 'data')
			this.#data.push(value);
		else if (name === 'event')
			this.#event = value;
		else if (name === 'id')
			this.#id = value;
		return undefined;
	}

	finish() {
		const frame = this.#data.length === 0
			? undefined
			: {
				id: this.#id,
				event: this.#event,
				data: this.#data.join('\n'),
			};
		this.#data = [];
		this.#event = undefined;
		return frame;
	}
}

async function readOne(reader, signal) {
	try {
		signal?.throwIfAborted();
		const piece = await reader.read();
		signal?.throwIfAborted();
		return piece;
	} catch (cause) {
		signal?.throwIfAborted();
		throw new SandboxError('The connection broke off', {
			code: 'CONNECTION_FAILED',
			cause,
		});
	}
}

/**
 * Frames `{id, event, data}` of a stream, data as text. The stream is
 * cancelled when the caller stops early or ${signal} aborts.
 */
export async function* readFrames(stream, signal) {
	const reader = stream.getReader();
	const abort = () => reader.cancel(signal.reason).catch(() => {});
	const decoder = new TextDecoder();
	const splitter = new LineSplitter();
	const builder = new FrameBuilder();
	let ended = false;

	signal?.addEventListener('abort', abort, { once: true });
	try {
		while (!ended) {
			const { done, value } = await readOne(reader, signal);
			ended = done;
			const text = done
				? decoder.decode()
				: decoder.decode(value, { stream: true });
			for (const line of splitter.push(text)) {
				const frame = builder.line(line);
				if (frame !== undefined)
					yield frame;
			}
		}
		/* The sender may end without the last empty line. */
		builder.line(splitter.rest() || ':');
		const frame = builder.finish();
		if (frame !== undefined)
			yield { ...frame, unfinished: true };
	} finally {
		signal?.removeEventListener('abort', abort);
		if (!ended)
			await reader.cancel().catch(() => {});
		reader.releaseLock();
	}
}

/**
 * The events of a stream that execStream, runCodeStream or
 * streamProcessLogs returned, as objects.
 *
 * A frame that is not JSON throws; one that was cut by the end of the
 * connection is dropped, since no ending is ever made up: who needs to know
 * looks for the terminal event.
 */
export async function* parseSSEStream(stream, signal) {
	for await (const frame of readFrames(stream, signal)) {
		let event;
		try {
			event = JSON.parse(frame.data);
		} catch (cause) {
			if (frame.unfinished)
				return;
			throw new SandboxError('An event is not valid JSON', {
				code: 'INVALID_JSON_RESPONSE',
				context: { data: frame.data.slice(0, 256) },
				cause,
			});
		}
		yield event;
	}
}
