/**
 * Exposed ports and their preview URLs.
 */

/** `{url, port, name?, token}`. */
export function exposePort(api, port, { name, token } = {}) {
	return api.json('POST', '/api/ports', { port, name, token });
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
