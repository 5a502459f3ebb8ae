/**
 * Exposed ports and their preview URLs.
 */

/** `{url, port, name?, token, access, expiresAt?}`. */
export function exposePort(api, port, options = {}) {
	const { name, token, access, ttl, expiresAt, keepHost } = options;

	return api.json('POST', '/api/ports',
		{ port, name, token, access, ttl, expiresAt, keepHost });
}

/** Other settings, or with `rotate: true` another token. */
export function changePort(api, port, changes) {
	return api.json('PATCH', `/api/ports/${encodeURIComponent(port)}`,
		changes);
}

/** A link to a private preview: `{url, token, id, expiresAt}`. */
export function linkPort(api, port, { ttl, expiresAt, user, once } = {}) {
	return api.json('POST', `/api/ports/${encodeURIComponent(port)}/links`,
		{ ttl, expiresAt, user, once });
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
