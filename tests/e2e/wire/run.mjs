/**
 * run.mjs [FILE…]: installs the public client, as package-lock.json has it,
 * into a directory of its own and runs the test files with it (all of this
 * folder, or those named). Ends with 77 when it cannot be installed.
 */
import { execFile, spawn } from 'node:child_process';
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const INSTALL_MS = 120_000;
const SKIPPED = 77;

async function install(directory) {
	for (const name of ['package.json', 'package-lock.json'])
		await copyFile(path.join(HERE, name),
			path.join(directory, name));
	await promisify(execFile)('npm',
		['ci', '--ignore-scripts', '--no-audit', '--no-fund'],
		{ cwd: directory, timeout: INSTALL_MS });
}

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
	const directory = await mkdtemp(path.join(os.tmpdir(), 'warren-wire-'));

	try {
		await install(directory);
	} catch (error) {
		console.log(`skipped: the client cannot be installed: ${
			error.stderr || error.message}`);
		await rm(directory, { recursive: true, force: true });
		return SKIPPED;
	}
	try {
		return await runTests(directory);
	} finally {
		await rm(directory, { recursive: true, force: true });
	}
}

process.exitCode = await main();
