/**
 * Base64 in Node and browsers alike.
 */
const STEP = 0x8000;

export function toBase64(bytes) {
	let binary = '';

	if (typeof globalThis.Buffer === 'function')
		return Buffer.from(
			bytes.buffer, bytes.byteOffset, bytes.byteLength,
		).toString('base64');
	for (let at = 0; at < bytes.length; at += STEP)
		binary += String.fromCharCode(
			...bytes.subarray(at, at + STEP));
	return btoa(binary);
}
