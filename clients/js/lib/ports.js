/**
 * Exposed ports and their preview URLs.
 */

/** `{url, port, name?, token, access, keepHost, waitMs, expiresAt?}`. */
export function exposePort(api, port, options = {}) {
	const { name, token, access, ttl, expiresAt, keepHost, waitMs } = options;

	return api.json('POST', '/api/ports',
		{ port, name, token, access, ttl, expiresAt, keepHost, waitMs });
}

/** One more URL of a port that is exposed, by another token. */
export function namePort(api, port, name, options = {}) {
	const { token, access, ttl, expiresAt, keepHost, waitMs } = options;

	return api.json('POST', `/api/ports/${encodeURIComponent(port)}/names`,
		{ name, token, access, ttl, expiresAt, keepHost, waitMs });
}

/** Ends that URL; the port's others stay. */
export async function unnamePort(api, port, name) {
	await api.json('DELETE', `/api/ports/${encodeURIComponent(port)}/names/` +
		encodeURIComponent(name));
}

/** Other settings, or with `rotate: true` another token. */
export function changePort(api, port, changes) {
	return api.json('PATCH', `/api/ports/${encodeURIComponent(port)}`,
		changes);
}

/** A link to a private preview: `{url, token, id, expiresAt}`. */
export function linkPort(api, port, options = {}) {
	const { ttl, expiresAt, user, once, name } = options;

	return api.json('POST', `/api/ports/${encodeURIComponent(port)}/links`,
		{ ttl, expiresAt, user, once, name });
}

/** Ends the preview URL. A port that was not exposed is no error. */
export async function unexposePort(api, port) {
	try {
		await api.json('DELETE',
			`/api/ports/${encodeURIComponent(port)}`);
	} catch (error) {
		if (error.code !== 'PORT_NOT_EXPOSED')
			throw error;
	}
}

export async function getExposedPorts(api) {
	const { ports } = await api.json('GET', '/api/ports');

	return ports;
}

export async function isPortExposed(api, port) {
	const ports = await getExposedPorts(api);

	return ports.some((row) => row.port === port);
}
