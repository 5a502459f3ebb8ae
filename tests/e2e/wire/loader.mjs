/**
 * node --import: lets plain Node load the public client. WARREN_WIRE_PACKAGE
 * is the directory that it is installed in.
 */
import { register } from 'node:module';
import { pathToFileURL } from 'node:url';

const installed = process.env.WARREN_WIRE_PACKAGE;

if (installed === undefined)
	throw new Error('WARREN_WIRE_PACKAGE is not set; use run.mjs');
register('./hooks.mjs', import.meta.url, {
	data: { parentURL: pathToFileURL(`${installed}/package.json`).href },
});
