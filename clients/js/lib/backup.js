/**
 * Backups of directories. They are their tenant's and outlive the sandbox.
 */

/**
 * Stores a directory: `{id, dir, sizeBytes, expiresAt, …}`, of which `id` and
 * `dir` are enough to restore it. Options: dir, name, ttl (seconds, or "12h"),
 * gitignore, excludes (globs), idempotencyKey, signal.
 */
export function createBackup(api, options = {}) {
	return api.json('POST', '/api/backup/create', {
		dir: options.dir,
		name: options.name,
		ttl: options.ttl,
		gitignore: options.gitignore,
		excludes: options.excludes,
		compression: options.compression,
	}, { signal: options.signal, idempotencyKey: options.idempotencyKey });
}

/**
 * Puts what was stored in the place of a directory, `backup.dir` or another:
 * whole, or nothing changes. `{success, dir, id, entries, bytes}`.
 */
export function restoreBackup(api, backup, options = {}) {
	return api.json('POST', '/api/backup/restore', {
		id: backup.id,
		dir: options.dir ?? backup.dir,
	}, { signal: options.signal });
}

/** `{backups, next?, usedBytes, limitBytes}`, the newest first. */
export function listBackups(transport, path, options = {}) {
	const query = new URLSearchParams();

	for (const key of ['sandbox', 'after', 'limit'])
		if (options[key] !== undefined)
			query.set(key, options[key]);
	const text = String(query);
	return transport.json('GET', path + (text && `?${text}`));
}

export function getBackup(transport, id) {
	return transport.json('GET', `/v1/backups/${encodeURIComponent(id)}`);
}

export async function deleteBackup(transport, id) {
	await transport.json('DELETE',
		`/v1/backups/${encodeURIComponent(id)}`);
}
