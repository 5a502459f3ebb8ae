/**
 * Files. Relative paths start at the session's directory.
 */
import { toBase64 } from './bytes.js';

/** Writes text, or bytes; makes missing parents. */
export function writeFile(api, path, content, options = {}) {
	const body = content instanceof Uint8Array
		? { content: toBase64(content), encoding: 'base64' }
		: { content, encoding: options.encoding };

	return api.json('POST', '/api/write', { path, ...body }, options);
}

/** `{content, encoding, isBinary, mimeType, size, …}`. */
export function readFile(api, path, { encoding, signal } = {}) {
	return api.json('POST', '/api/read', { path, encoding }, { signal });
}

/**
 * A file of any size, as a stream of bytes for parseSSEStream: a `metadata`
 * event, `chunk`s, then `complete` or `error`.
 */
export function readFileStream(api, path, { encoding, signal } = {}) {
	return api.stream('POST', '/api/read/stream', { path, encoding },
		{ signal });
}

export function mkdir(api, path, { recursive = false } = {}) {
	return api.json('POST', '/api/mkdir', { path, recursive });
}

export function deleteFile(api, path) {
	return api.json('POST', '/api/delete', { path });
}

export function renameFile(api, oldPath, newPath) {
	return api.json('POST', '/api/rename', { oldPath, newPath });
}

export function moveFile(api, sourcePath, destinationPath) {
	return api.json('POST', '/api/move', { sourcePath, destinationPath });
}

/** `{path, files, count}`; options `{recursive, includeHidden}`. */
export function listFiles(api, path, options = {}) {
	return api.json('POST', '/api/list-files', { path, options });
}

/** `{path, exists}`. */
export function exists(api, path) {
	return api.json('POST', '/api/exists', { path });
}
