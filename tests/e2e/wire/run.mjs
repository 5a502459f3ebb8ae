/**
 * run.mjs [FILE…]: installs the public client, as package-lock.json has it,
 * into a directory of its own and runs the test files with it (all of this
 * folder, or those named). Ends with 77 when it cannot be installed.
 */
import { spawn } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { installPackages } from '../lib/npm.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const SKIPPED = 77;

async function testFiles() {
	const named = process.argv.slice(2);

	if (named.length > 0)
		return named;
	return (await readdir(HERE))
		.filter((name) => name.endsWith('.test.mjs'))
		.sort()
		.map((name) => path.join(HERE, name));
}

async function runTests(directory) {
	const child = spawn(process.execPath,
		['--import', path.join(HERE, 'loader.mjs'), '--test',
			...await testFiles()], {
			stdio: 'inherit',
			env: { ...process.env, WARREN_WIRE_PACKAGE: directory },
		});

	return new Promise((resolve, reject) => {
		child.once('error', reject);
		child.once('exit', (code) => resolve(code ?? 1));
	});
}

async function main() {
	const { directory, missing } = await installPackages(HERE);

	if (missing !== undefined) {
		console.log(`skipped: the client cannot be installed: ${missing}`);
		return SKIPPED;
	}
	try {
		return await runTests(directory);
	} finally {
		await rm(directory, { recursive: true, force: true });
	}
}

process.exitCode = await main();
