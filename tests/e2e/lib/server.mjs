/**
 * Starts and stops whole stacks by nginx/serve, and calls the operator's
 * command.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
	.replace(/\/$/, '');
const SERVE = path.join(ROOT, 'nginx/serve');
const CLI = process.env.WARREN_CLI ?? path.join(ROOT, 'build/release/warren');
const PORTS = { first: 18100, count: 100 };
/* A first start may install packages and build. */
const START_MS = 15 * 60_000;
const STOP_MS = 60_000;
const DRAIN_MS = 1000;

const run = promisify(execFile);

function isFree(port) {
	return new Promise((resolve) => {
		const probe = net.createServer();
		probe.once('error', () => resolve(false));
		probe.listen(port, '0.0.0.0', () =>
			probe.close(() => resolve(true)));
	});
}

export async function freePort() {
	const offset = Math.floor(Math.random() * PORTS.count);

	for (let i = 0; i < PORTS.count; i++) {
		const port = PORTS.first + (offset + i) % PORTS.count;
		if (await isFree(port))
			return port;
	}
	throw new Error('no free port for a stack');
}

export async function makeDataDir() {
	const dir = await mkdtemp(path.join(os.tmpdir(), 'warren-e2e-'));

	/* Workers pass through it; what is inside has its own modes. */
	await chmod(dir, 0o755);
	return dir;
}

/**
 * Runs serve --detach: `{url, apiKey, data, port}`. The key is only told
 * when the data directory is new.
 */
export async function start({ port, data }) {
	const child = spawn(SERVE,
		['--detach', '--port', String(port), '--data', data],
		{ stdio: ['ignore', 'pipe', 'pipe'], timeout: START_MS });
	const closed = new Promise((resolve) => child.once('close', resolve));
	let text = '';

	for (const stream of [child.stdout, child.stderr])
		stream.on('data', (chunk) => { text += chunk; });
	const code = await new Promise((resolve, reject) => {
		child.once('error', reject);
		child.once('exit', (exit, signal) => resolve(exit ?? signal));
	});
	/*
	 * What was printed before the exit may still be on its way, but what
	 * serve started may hold the pipe for ever.
	 */
	await Promise.race([closed, pause(DRAIN_MS, undefined, { ref: false })]);
	const url = /^Warren is up: (\S+)$/m.exec(text)?.[1];
	if (code !== 0 || url === undefined)
		throw new Error(`nginx/serve ended with ${code}:\n${text}`);
	return {
		url,
		apiKey: /^API key: (wrn_\S+)$/m.exec(text)?.[1],
		data,
		port,
	};
}

export async function stop(data) {
	await run(SERVE, ['--stop', '--data', data], { timeout: STOP_MS });
}

export async function stopAndRemove(data) {
	await stop(data);
	await rm(data, { recursive: true, force: true });
}

export const canServe = () => process.getuid() === 0 && existsSync(SERVE);

/** Runs the operator's command; its standard output. */
export async function warren(data, ...args) {
	const { stdout } = await run(CLI, ['--data', data, ...args],
		{ timeout: STOP_MS });

	return stdout;
}

/**
 * The stack that the environment names (WARREN_URL, or the fixture's file
 * WARREN_E2E_STACK), or a new one, marked as `own`: who asked stops it.
 */
export async function find() {
	const { env } = process;

	if (env.WARREN_URL)
		return {
			url: env.WARREN_URL,
			apiKey: env.WARREN_API_KEY,
			data: env.WARREN_DATA,
		};
	if (env.WARREN_E2E_STACK)
		return JSON.parse(await readFile(env.WARREN_E2E_STACK));
	const port = await freePort();
	const data = await makeDataDir();
	return { ...await start({ port, data }), own: true };
}
