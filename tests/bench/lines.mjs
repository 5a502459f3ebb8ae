/**
 * Processes that print numbered lines (guest/lines.py), and whether all of
 * them are in the database, in order and once. tests/e2e/logs.test.mjs uses
 * it, too.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Puts the program into a sandbox. */
export function writeLines(sandbox) {
	return sandbox.writeFile('/tmp/lines.py',
		readFileSync(here('guest/lines.py'), 'utf8'));
}

/** ${count} processes of ${rate} lines a second each. */
export function startLines(sandbox, count, rate, seconds) {
	return Promise.all(Array.from({ length: count }, (_, i) =>
		sandbox.startProcess('exec python3 -S /tmp/lines.py ' +
			`p${i} ${rate} ${seconds}`)));
}

/**
 * What is stored of them: `[{name, lines, chunks, wrong}]`, ${lines} being
 * wanted of each.
 */
export async function storedLines(data, sandboxId, lines) {
	const { stdout } = await run('python3', [here('lines_stored.py'),
		path.join(data, 'db/logs.db'), sandboxId, String(lines)],
	{ maxBuffer: 64 << 20 });

	return JSON.parse(stdout);
}
