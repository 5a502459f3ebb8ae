/**
 * What changes in a directory: as it happens, or since one looked last.
 */
const bodyOf = (path, { recursive, events, include, exclude, sessionId }) => ({
	path, recursive, events, include, exclude,
	...sessionId !== undefined && { sessionId },
});

/**
 * Watches a directory, or a file: a stream of bytes for parseSSEStream. When
 * it is here the watch has begun. Its events: `watching`, then `event`s; after
 * `resync` look yourself what is there; the last is `stopped` or `error`.
 */
export function watch(api, path, options = {}) {
	return api.stream('POST', '/api/watch', bodyOf(path, options),
		{ signal: options.signal });
}

/**
 * Whether something changed since the check whose `version` is given as
 * `since`: `{status, version}` with the status `unchanged`, `changed`, or
 * `resync`, when that is not known any more.
 */
export function checkChanges(api, path, options = {}) {
	return api.json('POST', '/api/watch/check',
		{ ...bodyOf(path, options), since: options.since },
		{ signal: options.signal });
}
