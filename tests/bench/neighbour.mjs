/**
 * How long output takes to be committed, alone and beside a flood in another
 * sandbox: both in the same run, in turns, since machines are noisy.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const ROUNDS = 3;

const median = (values) =>
	[...values].sort((a, b) => a - b)[values.length >> 1];

/**
 * The milliseconds from each of ${count} writes in ${sandbox} until another
 * connection to the database can read it.
 */
async function commits(stack, sandbox, count) {
	await sandbox.writeFile('/tmp/clock.py',
		readFileSync(here('guest/clock.py'), 'utf8'));
	const { id } = await sandbox.getInfo();
	const watcher = spawn('python3', [here('commit_watch.py'),
		path.join(stack.data, 'db/logs.db'), id, String(count)],
	{ stdio: ['ignore', 'pipe', 'inherit'], timeout: 60_000 });
	let said;

	for await (const line of createInterface(watcher.stdout)) {
		said = line;
		if (line === 'ready')
			await sandbox.startProcess(
				`exec python3 -S /tmp/clock.py ${count} 0.03`);
	}
	return JSON.parse(said);
}

/** `{calm, flooded}`: medians of ${samples} each, in milliseconds. */
export async function neighbour(stack, { sandbox, samples }) {
	const loud = sandbox();
	const calm = [];
	const flooded = [];

	for (let i = 0; i < ROUNDS; i++) {
		calm.push(...await commits(stack, sandbox(), samples / ROUNDS));
		const flood = await loud.startProcess('exec yes');
		flooded.push(...await commits(stack, sandbox(),
			samples / ROUNDS));
		await flood.kill('SIGKILL');
	}
	return { calm: median(calm), flooded: median(flooded) };
}
