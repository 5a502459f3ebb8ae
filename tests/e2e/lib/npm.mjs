/**
 * Packages of npm, as a lock file has them, in a directory of their own.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const INSTALL_MS = 180_000;

/**
 * Installs what package.json and package-lock.json of ${from} say, running
 * nothing of it: `{directory}`, or `{missing}`, why it cannot be installed.
 */
export async function installPackages(from) {
	const directory = await mkdtemp(path.join(os.tmpdir(), 'warren-npm-'));

	for (const name of ['package.json', 'package-lock.json'])
		await copyFile(path.join(from, name), path.join(directory, name));
	try {
		await promisify(execFile)('npm',
			['ci', '--ignore-scripts', '--no-audit', '--no-fund'],
			{ cwd: directory, timeout: INSTALL_MS });
		return { directory };
	} catch (error) {
		await rm(directory, { recursive: true, force: true });
		return { missing: error.stderr || error.message };
	}
}
