/**
 * Files as bytes, of any size: raw uploads and downloads, archives, links.
 */
import { SandboxError } from './error.js';

const PLAIN = /[A-Za-z0-9._~-]/;

/** A path, text or bytes, as a part of a URL. */
export function encodePath(path) {
	const bytes = typeof path === 'string'
		? new TextEncoder().encode(path)
		: path;
	const text = Array.from(bytes, (b) => {
		const c = String.fromCharCode(b);
		return c === '/' || PLAIN.test(c)
			? c
			: `%${b.toString(16).toUpperCase().padStart(2, '0')}`;
	}).join('');

	/* A URL's own . and .. would be taken out before it is sent. */
	return text.split('/').some((part) => part === '.' || part === '..')
		? text.replaceAll('/', '%2F')
		: text;
}

function queryOf(values) {
	const query = new URLSearchParams();

	for (const [key, value] of Object.entries(values))
		if (value !== undefined)
			query.set(key, typeof value === 'boolean'
				? Number(value) : value);
	const text = String(query);
	return text && `?${text}`;
}

function present(values) {
	return Object.fromEntries(Object.entries(values)
		.filter(([, value]) => value !== undefined));
}

const isStream = (x) => typeof x?.getReader === 'function';

/** How many bytes there will be, if that is known. */
function sizeOf(content) {
	if (typeof content === 'string')
		return new TextEncoder().encode(content).length;
	return content.byteLength ?? (isStream(content) ? undefined
		: content.size);
}

async function* piecesOf(content) {
	if (typeof content === 'string')
		content = new TextEncoder().encode(content);
	if (content instanceof ArrayBuffer)
		content = new Uint8Array(content);
	if (ArrayBuffer.isView(content)) {
		const step = 1 << 16;
		for (let at = 0; at < content.byteLength; at += step)
			yield new Uint8Array(content.buffer,
				content.byteOffset + at,
				Math.min(step, content.byteLength - at));
	} else {
		const stream = typeof content.stream === 'function'
			? content.stream() : content;
		yield* isStream(stream) ? readAll(stream) : stream;
	}
}

async function* readAll(stream) {
	const reader = stream.getReader();

	try {
		for (;;) {
			const { done, value } = await reader.read();
			if (done)
				return;
			yield value;
		}
	} finally {
		await reader.cancel().catch(() => {});
	}
}

/** Whether this fetch sends a stream: most browsers' do not over HTTP/1.1. */
function sendsStreams() {
	return typeof globalThis.process?.versions?.node === 'string';
}

/* The same bytes, told as they are taken. */
function counted(pieces, total, onProgress, signal) {
	const iterator = pieces[Symbol.asyncIterator]();
	let bytes = 0;

	return new ReadableStream({
		async pull(controller) {
			/* Node's fetch would read an aborted upload to its end. */
			if (signal?.aborted) {
				controller.error(signal.reason);
				return void iterator.return?.();
			}
			const { done, value } = await iterator.next();
			if (done)
				return controller.close();
			bytes += value.byteLength;
			controller.enqueue(value);
			onProgress?.({ bytes, total });
		},
		async cancel() {
			await iterator.return?.();
		},
	});
}

/** A file that is being read. Its body can be taken once. */
export class Download {
	#response;
	#onProgress;

	constructor(response, onProgress) {
		const { headers } = response;
		const range = /^bytes (\d+)-\d+\/(\d+)$/
			.exec(headers.get('content-range'));
		const length = headers.get('content-length');

		this.#response = response;
		this.#onProgress = onProgress;
		/** How many bytes come, and of how many; undefined: not known. */
		this.size = length === null ? undefined : Number(length);
		this.totalSize = range ? Number(range[2]) : this.size;
		this.offset = range ? Number(range[1]) : 0;
		this.etag = headers.get('etag') ?? undefined;
		this.contentType = headers.get('content-type') ?? undefined;
		this.lastModified = headers.has('last-modified')
			? new Date(headers.get('last-modified')) : undefined;
	}

	/** The bytes as they come. Fails when they break off. */
	async* [Symbol.asyncIterator]() {
		let bytes = 0;

		try {
			for await (const piece of readAll(this.#response.body)) {
				bytes += piece.byteLength;
				this.#onProgress?.({ bytes, total: this.size });
				yield piece;
			}
		} catch (cause) {
			if (cause?.name === 'AbortError')
				throw cause;
			throw new SandboxError('The file broke off', {
				code: 'CONNECTION_FAILED', cause,
			});
		}
		if (this.size !== undefined && bytes !== this.size)
			throw new SandboxError('The file broke off',
				{ code: 'CONNECTION_FAILED' });
	}

	stream() {
		return counted(this, this.size, undefined);
	}

	async bytes() {
		const pieces = [];
		let size = 0, at = 0;

		for await (const piece of this) {
			pieces.push(piece);
			size += piece.byteLength;
		}
		const all = new Uint8Array(size);
		for (const piece of pieces) {
			all.set(piece, at);
			at += piece.byteLength;
		}
		return all;
	}

	async text() {
		return new TextDecoder().decode(await this.bytes());
	}
}

export class Files {
	#api;

	constructor(api) {
		this.#api = api;
	}

	async #send(method, path, options = {}) {
		return this.#api.raw(method, path, options);
	}

	async #upload(path, content, options, headers = {}) {
		const { onProgress, signal } = options;
		const total = options.size ?? sizeOf(content);
		const stream = sendsStreams() && (onProgress !== undefined ||
			isStream(content) ||
			typeof content[Symbol.asyncIterator] === 'function');
		const response = await this.#send('PUT', path, {
			signal,
			headers: {
				'Content-Type': 'application/octet-stream',
				...headers,
			},
			body: stream
				? counted(piecesOf(content), total, onProgress,
					signal)
				: content,
		});

		if (!stream)
			onProgress?.({ bytes: total, total });
		return { ...await response.json(),
			...present({ etag: response.headers.get('etag') ?? undefined }),
			created: response.status === 201 };
	}

	/**
	 * Writes text, bytes, a Blob, or a stream: `{path, size, etag,
	 * created}`. `onProgress({bytes, total})` as they are sent (browsers:
	 * at the end). Options: mode, append, offset, ifMatch, ifNoneMatch,
	 * signal, size, for a stream whose size is known, and sync: false,
	 * for who does not wait until it is on the disk.
	 */
	put(path, content, options = {}) {
		const { mode, append, offset, sync } = options;

		return this.#upload(`/files/${encodePath(path)}` +
			queryOf({ mode, append, offset, sync }), content, options,
		present({ 'If-Match': options.ifMatch,
			'If-None-Match': options.ifNoneMatch }));
	}

	/**
	 * A file as a Download: `for await` of its pieces, `.bytes()`,
	 * `.text()`, `.stream()`. Options: start and end (the last byte) of a
	 * range, onProgress, ifMatch, signal.
	 */
	async get(path, options = {}) {
		const { start, end, ifMatch, signal, onProgress } = options;
		const range = start === undefined && end === undefined
			? undefined : `bytes=${start ?? 0}-${end ?? ''}`;
		const response = await this.#send('GET',
			`/files/${encodePath(path)}`, {
				signal,
				headers: present({ Range: range, 'If-Match': ifMatch }),
			});

		return new Download(response, onProgress);
	}

	async delete(path, { recursive, ifMatch, signal } = {}) {
		await this.#send('DELETE', `/files/${encodePath(path)}` +
			queryOf({ recursive }), {
			signal, headers: present({ 'If-Match': ifMatch }),
		});
	}

	/** A directory as an archive: `tar`, `tar.gz`, `tar.zst` or `zip`. */
	async pack(path, { format = 'tar.gz', signal, onProgress } = {}) {
		return new Download(await this.#send('GET',
			`/archive/${encodePath(path)}` + queryOf({ format }),
			{ signal }), onProgress);
	}

	/** Unpacks an archive into a directory: `{path, entries, bytes}`. */
	async unpack(path, content, options = {}) {
		const { created, ...done } = await this.#upload(
			`/archive/${encodePath(path)}` +
			queryOf({ links: options.links }), content, options);

		return done;
	}

	stat(path, { followLinks, signal } = {}) {
		return this.#api.json('POST', '/api/stat',
			{ path, followLinks }, { signal });
	}

	copy(sourcePath, destinationPath, { recursive, overwrite } = {}) {
		return this.#api.json('POST', '/api/copy', { sourcePath,
			destinationPath, recursive, overwrite });
	}

	chmod(path, mode, { recursive } = {}) {
		const text = typeof mode === 'number'
			? mode.toString(8).padStart(4, '0') : mode;

		return this.#api.json('POST', '/api/chmod',
			{ path, mode: text, recursive });
	}

	/** `{success, files: [{path, success, size or error}]}`. */
	writeMany(files, { sync } = {}) {
		return this.#api.json('POST', '/api/write-files', { files, sync });
	}

	/** All entries, page by page. */
	async* list(path, { recursive, includeHidden, pageSize = 1000 } = {}) {
		let cursor;

		do {
			const page = await this.#api.json('POST', '/api/list-files', {
				path,
				options: { recursive, includeHidden, limit: pageSize,
					cursor },
			});
			yield* page.files;
			cursor = page.cursor;
		} while (cursor !== undefined);
	}

	/** A URL for who has no key: `{id, url, expiresAt, …}`. */
	link(path, { method, ttl, expiresAt, download } = {}) {
		return this.#api.json('POST', '/api/links', { path, method, ttl,
			expiresAt: expiresAt instanceof Date
				? expiresAt.toISOString() : expiresAt,
			download });
	}

	async links() {
		return (await this.#api.json('GET', '/api/links')).links;
	}

	async revokeLink(id) {
		await this.#api.json('DELETE',
			`/api/links/${encodeURIComponent(id)}`);
	}
}
