/**
 * What survives: a stop and start on the same data directory, and kill -9 of
 * each program of the service. On a stack of its own.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';

import { getSandbox } from '../../clients/js/index.js';
import { findProcesses, findPrograms } from './lib/hostproc.mjs';
import * as server from './lib/server.mjs';
import { fetchRaw, guest, uniqueName, until } from './stack.mjs';

const skip = !server.canServe() && 'needs root and nginx/serve';
const limit = { timeout: 180_000, skip };
let stack;

before(async () => {
	if (skip)
		return;
	stack = await server.start({
		port: await server.freePort(),
		data: await server.makeDataDir(),
	});
}, { timeout: 15 * 60_000 });

after(async () => {
	if (stack !== undefined)
		await server.stopAndRemove(stack.data);
});

const open = () => getSandbox(uniqueName(),
	{ url: stack.url, apiKey: stack.apiKey });

/** Pids of this stack's ${program}. */
const mine = (program) => findPrograms(program,
	(words) => words.includes(stack.data));

/** Kills one of ${program} and waits until another one is in its place. */
async function killAndReplace(program) {
	const pids = mine(program);

	assert.ok(pids.length > 0, `${program} runs`);
	process.kill(pids[0], 'SIGKILL');
	await until(15_000, `a new ${program}`, () => {
		const now = mine(program);
		return now.length === pids.length && !now.includes(pids[0]);
	});
}

test('files, ports, keys and history are there after a restart', limit,
	async () => {
		const sandbox = open();
		await sandbox.writeFile('/workspace/kept.txt', 'kept');
		await sandbox.exec('echo x > /root/also; mkdir -p /opt/mine');
		await sandbox.writeFile('app.js', await guest('app.js'));
		const app = await sandbox.startProcess('node app.js 8100');
		await app.waitForLog('app listens', 20_000);
		const exposed = await sandbox.exposePort(8100);
		const context = await sandbox.createCodeContext();
		const { id } = await sandbox.getInfo();
		const key = stack.apiKey;

		await server.stop(stack.data);
		assert.deepEqual(findProcesses('warrend',
			(words) => words.includes(stack.data)), []);
		Object.assign(stack, await server.start(stack),
			{ apiKey: key });

		assert.equal((await sandbox.getInfo()).id, id);
		assert.equal((await sandbox.getInfo()).state, 'stopped');
		assert.equal((await sandbox.readFile('kept.txt')).content,
			'kept');
		const there = await sandbox.exec('cat /root/also; ls -d /opt/mine');
		assert.equal(there.stdout, 'x\n/opt/mine\n');
		const ports = await sandbox.getExposedPorts();
		assert.deepEqual(ports.map(({ port, url }) => ({ port, url })),
			[{ port: 8100, url: exposed.url }]);
		/* Processes ended with their sandbox, and it is told. */
		const old = await sandbox.getProcess(app.id);
		assert.equal(old.status, 'error');
		assert.equal(old.reason, 'sandbox_gone');
		assert.match((await sandbox.getProcessLogs(app.id)).stdout,
			/app listens/);
		const again = await sandbox.startProcess('node app.js 8100');
		await again.waitForLog('app listens', 20_000);
		assert.equal((await fetchRaw(new URL('/teapot', exposed.url)))
			.status, 418);
		/* The context is there; its variables are not. */
		const run = await sandbox.runCode('1 + 1', { context });
		assert.equal(run.results[0].text, '2');
		await sandbox.destroy();
	});

for (const program of ['warren-fcgi', 'warren-recorder', 'warrend'])
	test(`kill -9 of ${program} loses no sandbox`, limit, async () => {
		const sandbox = open();
		const started = await sandbox.startProcess(
			'n=0; while :; do echo $((n++)); sleep 0.1; done');
		const context = await sandbox.createCodeContext();
		await sandbox.runCode('x = 41', { context });
		const asleep = open();
		const sleeps = await asleep.startProcess('sleep 1000');
		await asleep.sleep();
		const due = open();
		await due.create({ sleepAfter: '2s' });

		await killAndReplace(program);
		assert.equal((await asleep.getInfo()).state, 'sleeping');
		assert.equal((await asleep.exec('echo up')).stdout, 'up\n');
		assert.equal((await asleep.getProcess(sleeps.id)).pid, sleeps.pid);
		assert.equal((await asleep.getInfo()).state, 'running');
		await until(30_000, 'what was due sleeps', async () =>
			(await due.getInfo()).state === 'sleeping');
		const { stdout } = await sandbox.exec('echo on');
		assert.equal(stdout, 'on\n');
		const now = await sandbox.getProcess(started.id);
		assert.equal(now.status, 'running');
		assert.equal(now.pid, started.pid);
		const run = await sandbox.runCode('x + 1', { context });
		assert.equal(run.results[0].text, '42');
		/* New sandboxes are made as before. */
		const other = open();
		assert.equal((await other.exec('echo new')).stdout, 'new\n');
		for (const each of [other, asleep, due])
			await each.destroy();

		/* No line of the process is lost or doubled. */
		await sandbox.killProcess(started.id);
		const lines = (await sandbox.getProcessLogs(started.id))
			.stdout.trim().split('\n');
		assert.deepEqual(lines, lines.map((_, i) => String(i)));
		await sandbox.destroy();
	});

test('a taken port is refused with one sentence', limit, async () => {
	const data = await server.makeDataDir();

	await assert.rejects(server.start({ port: stack.port, data }),
		(error) => {
			assert.match(error.message, /port/i);
			assert.match(error.message, new RegExp(stack.port));
			return true;
		});
});

test('stopping leaves no process and no mount', limit, async () => {
	await open().exec('true');
	const { data, apiKey } = stack;

	await server.stop(data);
	for (const program of ['warrend', 'warren-fcgi', 'warren-recorder',
		'warren-terminal', 'warren-maker', 'warren-keeper', 'nginx'])
		assert.deepEqual(findProcesses(program, (words) =>
			words.some((word) => word.includes(data))), [], program);
	assert.ok(!readFileSync('/proc/self/mounts', 'utf8').includes(data));
	Object.assign(stack, await server.start(stack), { apiKey });
	const sandbox = open();
	assert.equal((await sandbox.exec('echo ok')).stdout, 'ok\n');
});
