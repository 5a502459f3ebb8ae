/**
 * Sleep and wake, stop and start, and what becomes of a sandbox that nobody
 * uses. Long, as one stack and one set of helpers serve all of it.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

import { getSandbox, listSandboxes } from '../../clients/js/index.js';
import { connect } from './lib/ws.mjs';
import {
	fetchRaw, guest, pause, uniqueName, until, useStack, within,
} from './stack.mjs';

const stack = useStack();
const limit = { timeout: 120_000 };
const CYCLES = 10;

const stateOf = async (sandbox) => (await sandbox.getInfo()).state;
const reaches = (sandbox, state) => until(30_000, `it is ${state}`,
	async () => await stateOf(sandbox) === state);

/** As the operator's SQL sees it. */
async function rowState(id) {
	const text = await stack.warren('sql',
		`SELECT state FROM sandboxes WHERE id = '${id}'`);

	return /running|sleeping|stopped/.exec(text)?.[0];
}

/** Microseconds of processor time so far, by the kernel; root sees it. */
function cpuOf(pid) {
	const [, path] = /^0::(\/.*\/s0[^/\n]*)/m
		.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8')) ?? [];

	for (const root of ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'])
		if (existsSync(`${root}${path}/cpu.stat`))
			return Number(/usage_usec (\d+)/.exec(readFileSync(
				`${root}${path}/cpu.stat`, 'utf8'))[1]);
	return undefined;
}

/** A pid of the host that runs in the sandbox. */
async function pidIn(sandbox) {
	const { initsOf } = await import('./lib/hostproc.mjs');

	return initsOf((await sandbox.getInfo()).id)[0];
}

/** The test application in a new sandbox, and its URL. */
async function startApp(t, settings) {
	const sandbox = stack.sandbox(t);

	if (settings)
		await sandbox.create(settings);
	await sandbox.writeFile('app.js', await guest('app.js'));
	const app = await sandbox.startProcess('node app.js 8100');
	await app.waitForLog('app listens', 30_000);
	return { sandbox, app, ...await sandbox.exposePort(8100) };
}

test('ten sleeps lose nothing, take no time, and reads do not end them',
	{ timeout: 240_000 }, async (t) => {
		const { sandbox, app, url } = await startApp(t);
		const python = await sandbox.createCodeContext();
		const node = await sandbox.createCodeContext(
			{ language: 'javascript' });
		const session = await sandbox.createSession({ id: 'kept' });
		const socket = await connect(url);
		const { id } = await sandbox.getInfo();
		const pid = await pidIn(sandbox);

		await session.exec('cd /tmp; mine=1');
		await sandbox.runCode('n = 0', { context: python });
		await sandbox.runCode('let n = 0', { context: node });
		await sandbox.startProcess('while :; do :; done',
			{ processId: 'busy' });
		const reads = [
			() => sandbox.getInfo(),
			() => listSandboxes({ url: stack.url,
				apiKey: stack.apiKey }),
			() => sandbox.listProcesses(),
			() => app.getLogs(),
			() => sandbox.getExposedPorts(),
			() => sandbox.listCodeContexts(),
			() => sandbox.listSessions(),
			() => sandbox.getDenials(),
			() => stack.call('GET',
				`/v1/sandboxes/${id}/api/executions`),
		];
		/* Each wakes it; all of them find it as it was. */
		const found = {
			async file(i) {
				await sandbox.exec(`printf ${i} >>/workspace/all`);
				assert.equal((await sandbox.readFile('all')).content,
					'0123456789'.slice(0, i + 1));
			},
			async python(i) {
				const run = await sandbox.runCode('n += 1; n',
					{ context: python });
				assert.equal(run.results[0].text, String(i + 1));
			},
			async node(i) {
				const run = await sandbox.runCode('n += 1',
					{ context: node });
				assert.equal(run.results[0].text, String(i + 1));
			},
			async session(i) {
				const { stdout } = await session.exec(
					'echo $PWD $mine; mine=$((mine + 1))');
				assert.equal(stdout, `/tmp ${i + 1}\n`);
			},
			async preview() {
				assert.equal((await fetchRaw(new URL('/teapot', url)))
					.status, 418);
			},
			async socket(i) {
				socket.send(`message ${i}`);
				assert.equal(await within(30_000, 'the echo',
					socket.next()), `message ${i}`);
			},
			async process() {
				const now = await sandbox.getProcess(app.id);
				assert.equal(now.status, 'running');
				assert.equal(now.pid, app.pid);
				assert.equal((await sandbox.wake()).state, 'running');
			},
		};
		const names = Object.keys(found);

		for (let i = 0; i < CYCLES; i++) {
			const asleep = await sandbox.sleep();
			assert.equal(asleep.state, 'sleeping');
			/* The last to stop is on its way off a processor. */
			await until(30_000, 'nothing runs', async () => {
				const now = pid && cpuOf(pid);
				await pause(20);
				return now === (pid && cpuOf(pid));
			});
			const before = pid && cpuOf(pid);
			for (const read of reads)
				await read();
			assert.equal(pid && cpuOf(pid), before);
			assert.equal(await stateOf(sandbox), 'sleeping');
			/* Another one is the first in each cycle. */
			for (let n = 0; n < names.length; n++)
				await found[names[(i + n) % names.length]](i);
			assert.equal(await stateOf(sandbox), 'running');
		}
		socket.close();
	});

test('the state is the same in every answer, and in SQL', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	await sandbox.exec('true');
	const { id } = await sandbox.getInfo();
	const listed = async (state) => (await listSandboxes(
		{ url: stack.url, apiKey: stack.apiKey, state, limit: 1000 }))
		.sandboxes.filter((row) => row.id === id).map((row) => row.state);

	await sandbox.sleep();
	await sandbox.sleep();
	assert.equal(await stateOf(sandbox), 'sleeping');
	assert.deepEqual(await listed('sleeping'), ['sleeping']);
	assert.deepEqual(await listed('running'), []);
	await sandbox.wake();
	assert.equal(await stateOf(sandbox), 'running');
	assert.deepEqual(await listed('running'), ['running']);
	await sandbox.stop();
	await sandbox.stop();
	assert.equal(await stateOf(sandbox), 'stopped');
	assert.equal((await sandbox.sleep()).state, 'stopped');
	if (!stack.noOperator) {
		assert.equal(await rowState(id), 'stopped');
		await sandbox.start();
		assert.equal(await rowState(id), 'running');
		await sandbox.sleep();
		assert.equal(await rowState(id), 'sleeping');
	}
});

test('a preview\'s hit, a message on an open one and a key wake it', limit,
	async (t) => {
		const { sandbox, url } = await startApp(t);
		const { id } = await sandbox.getInfo();
		const socket = await connect(url);
		const { url: secret } = await sandbox.exposePort(8100,
			{ access: 'private' }).catch(() => ({}));

		await sandbox.sleep();
		const hits = await Promise.all(Array.from({ length: 8 }, () =>
			fetchRaw(new URL('/teapot', secret ?? url), { headers: {
				Authorization: `Bearer ${stack.apiKey}` } })));
		for (const { status } of hits)
			assert.equal(status, 418);
		assert.equal(await stateOf(sandbox), 'running');
		if (!stack.noOperator)
			await until(30_000, 'SQL says so, too',
				async () => await rowState(id) === 'running');
		await sandbox.sleep();
		/* A body that is sent is not lost on the way. */
		const answer = await fetchRaw(new URL('/echo', secret ?? url), {
			method: 'POST',
			headers: { Authorization: `Bearer ${stack.apiKey}` },
			body: 'x'.repeat(300_000),
		});
		assert.equal(JSON.parse(answer.text).body.length, 300_000);
		await sandbox.sleep();
		socket.send('up');
		assert.equal(await within(30_000, 'the echo', socket.next()), 'up');
		assert.equal(await stateOf(sandbox), 'running');
		socket.close();
	});

test('a terminal that is typed into wakes it', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const name = sandbox.name;
	const { json } = await stack.call('POST',
		`/v1/sandboxes/${name}/api/terminal/ticket`, { id: 'main' });
	const terminal = await connect(json.url);
	let seen = '';
	const says = async (text) => {
		while (!seen.includes(text))
			seen += String(await within(30_000, text, terminal.next()));
	};

	await until(30_000, 'the shell runs', async () =>
		(await sandbox.listProcesses()).length === 1);
	await sandbox.sleep();
	terminal.sendBinary('echo wo""ken\r');
	await says('woken');
	assert.equal(await stateOf(sandbox), 'running');
	terminal.close();
});

test('one that is not used sleeps; what is use is not interrupted', limit,
	async (t) => {
		const make = async (settings = {}) => {
			const sandbox = stack.sandbox(t);
			await sandbox.create({ sleepAfter: '1s', ...settings });
			return sandbox;
		};
		const [idle, busy, kept, read, called, ran] = await Promise.all([
			make(), make(), make({ keepAlive: true }), make(), make(),
			make(),
		]);
		const abort = new AbortController();

		/* Does not count, and goes on when it wakes. */
		const counts = await busy.startProcess(
			'n=0; while :; do echo $((n++)); sleep 0.05; done');
		/* Somebody reads it, a command and code run: these count. */
		const seen = await read.startProcess('sleep 1000');
		const stream = await read.streamProcessLogs(seen.id,
			{ signal: abort.signal });
		const command = called.exec('sleep 1000').catch(() => {});
		const context = await ran.createCodeContext();
		const run = ran.runCode('import time\nwhile True: time.sleep(1)',
			{ context });

		await Promise.all([reaches(idle, 'sleeping'),
			reaches(busy, 'sleeping')]);
		/* Three times as long as the others took. */
		await pause(3000);
		for (const sandbox of [kept, read, called, ran])
			assert.equal(await stateOf(sandbox), 'running');
		assert.equal((await kept.getInfo()).expiresAt, null);

		/* Use that ends is waited for from its end on. */
		await stream.cancel().catch(() => {});
		abort.abort();
		await called.killAllProcesses();
		for (const { id } of (await stack.call('GET', `/v1/sandboxes/${
			called.name}/api/executions`)).json.executions)
			await stack.call('DELETE', `/v1/sandboxes/${
				called.name}/api/executions/${id}`);
		await command;
		await ran.interruptCodeContext(context.id);
		await run;
		await kept.setKeepAlive(false);
		await Promise.all([read, called, ran, kept].map((sandbox) =>
			reaches(sandbox, 'sleeping')));

		const was = (await counts.getLogs()).stdout.split('\n').length;
		await busy.exec('true');
		await until(30_000, 'it counts on', async () =>
			(await counts.getLogs()).stdout.split('\n').length > was);
		const lines = (await counts.getLogs()).stdout.trim().split('\n');
		assert.deepEqual(lines, lines.map((_, i) => String(i)));
	});

test('changes hold at once; expiresAt says what is next', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const ms = (text) => Date.parse(text);

	await sandbox.exec('true');
	let info = await sandbox.getInfo();
	assert.equal(info.sleepAfter, '10m');
	assert.equal(ms(info.expiresAt), ms(info.lastActiveAt) + 600_000);
	info = await sandbox.update({ sleepAfter: '2h', deleteAfter: '1h',
		labels: { team: 'red' } });
	assert.equal(ms(info.expiresAt), ms(info.lastActiveAt) + 3_600_000);
	assert.deepEqual(info.labels, { team: 'red' });
	assert.equal(info.deleteAfter, '1h');
	const touched = await sandbox.touch();
	assert.ok(ms(touched.lastActiveAt) > ms(info.lastActiveAt));
	assert.equal(ms(touched.expiresAt), ms(touched.lastActiveAt) + 3_600_000);
	info = await sandbox.sleep();
	assert.equal(ms(info.expiresAt), ms(info.lastActiveAt) + 3_600_000);
	info = await sandbox.update({ deleteAfter: '0s' });
	assert.equal(info.expiresAt, null);
	assert.equal(info.deleteAfter, null);
	/* Asleep it stays, whatever is changed or touched. */
	assert.equal((await sandbox.touch()).state, 'sleeping');
	await sandbox.wake();
	await sandbox.setSleepAfter(0.5);
	await reaches(sandbox, 'sleeping');

	for (const [settings, field] of [[{ sleepAfter: 'soon' }, 'sleepAfter'],
		[{ stopAfter: 5 }, 'stopAfter'], [{ deleteAfter: '-1s' },
			'deleteAfter'], [{ keepAlive: 'yes' }, 'keepAlive'],
		[{ image: 'host' }, 'image']])
		await assert.rejects(sandbox.update(settings), (error) => {
			assert.equal(error.httpStatus, 400);
			assert.ok(error.message.includes(field), error.message);
			return true;
		});
});

test('stop ends what runs and keeps files; the next call starts it', limit,
	async (t) => {
		const { sandbox, app, url } = await startApp(t);
		const context = await sandbox.createCodeContext();
		const listed = async () => (await stack.call('GET', `/v1/sandboxes/${
			sandbox.name}/api/contexts`)).json.contexts
			.map(({ id, state }) => ({ id, state }));

		await sandbox.runCode('x = 1', { context });
		await sandbox.exec('echo kept >/root/kept');
		for (const before of ['running', 'sleeping']) {
			if (before === 'sleeping')
				await sandbox.sleep();
			const stopped = await sandbox.stop();
			assert.equal(stopped.state, 'stopped');
			assert.equal(stopped.expiresAt, null);
			const old = await sandbox.getProcess(app.id);
			assert.equal(old.reason, 'sandbox_gone');
			assert.deepEqual(await listed(),
				[{ id: context.id, state: 'lost' }]);
			/* Reads start nothing. */
			assert.equal(await stateOf(sandbox), 'stopped');
			if (before === 'running')
				assert.equal((await sandbox.start()).state, 'running');
			assert.equal((await sandbox.exec('cat /root/kept')).stdout,
				'kept\n');
			assert.equal(await stateOf(sandbox), 'running');
		}
		const run = await sandbox.runCode('x', { context });
		assert.equal(run.error.name, 'NameError');
		/* Its address is as good as before. */
		const again = await sandbox.startProcess('node app.js 8100');
		await again.waitForLog('app listens', 30_000);
		assert.equal((await fetchRaw(new URL('/teapot', url))).status, 418);
		await sandbox.stop();
		assert.equal((await fetchRaw(url)).status, 503); /* it starts */
		assert.equal(await stateOf(sandbox), 'running');
	});

test('one that is not used is stopped, then deleted; its name is free', limit,
	async (t) => {
		const { sandbox, app, url } = await startApp(t, {
			sleepAfter: '1s', stopAfter: '2s', deleteAfter: '1h',
			labels: { is: 'old' } });
		const { id } = await sandbox.getInfo();

		await reaches(sandbox, 'stopped');
		assert.equal((await sandbox.getProcess(app.id)).reason,
			'sandbox_gone');
		assert.equal((await sandbox.readFile('app.js')).size > 0, true);
		await sandbox.update({ deleteAfter: '1s' });
		await until(30_000, 'it is gone', () => sandbox.getInfo()
			.then(() => false, (error) => error.httpStatus === 404));
		assert.equal((await fetchRaw(url)).status, 404);
		const old = getSandbox(id, { url: stack.url, apiKey: stack.apiKey });
		await sandbox.create({ labels: { is: 'new' } });
		const made = await sandbox.getInfo();
		assert.notEqual(made.id, id);
		assert.deepEqual(made.labels, { is: 'new' });
		assert.equal((await sandbox.exec('ls')).stdout, '');
		await assert.rejects(old.exec('true'), { httpStatus: 404 });
		assert.equal((await fetchRaw(url)).status, 404);
	});

test('one that sleeps is deleted at once, and its name is free', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		for (let i = 0; i < 3; i++) {
			await sandbox.exec('echo $$ >new');
			await sandbox.startProcess('while :; do :; done');
			const pid = await pidIn(sandbox);
			await sandbox.sleep();
			await sandbox.destroy();
			await assert.rejects(sandbox.getInfo(), { httpStatus: 404 });
			assert.ok(pid === undefined || !existsSync(`/proc/${pid}`));
			assert.equal((await sandbox.exec('ls')).stdout, '');
		}
		for (const what of ['sleep', 'wake', 'stop', 'start', 'touch'])
			await assert.rejects(getSandbox(uniqueName(), {
				url: stack.url, apiKey: stack.apiKey })[what](),
			{ httpStatus: 404 });
	});

test('a command that runs is put to sleep by force only', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.exec('mkfifo begun');
	const command = sandbox.exec('echo >begun; sleep 0.1; echo on',
		{ timeout: 60_000 });
	await sandbox.exec('read <begun');
	const long = sandbox.exec('sleep 1000').catch(() => {});
	await until(30_000, 'both run', async () => (await stack.call('GET',
		`/v1/sandboxes/${sandbox.name}/api/executions`)).json.executions
		.some((row) => row.command === 'sleep 1000'));
	await assert.rejects(sandbox.sleep(), { code: 'RESOURCE_BUSY' });
	assert.equal(await stateOf(sandbox), 'running');
	assert.equal((await sandbox.sleep({ force: true })).state, 'sleeping');
	await sandbox.wake();
	assert.equal((await command).stdout, 'on\n');
	await sandbox.stop();
	await long;
});

test('calls that come while it goes to sleep are served', limit, async (t) => {
	const { sandbox, url } = await startApp(t);
	const { id } = await sandbox.getInfo();
	const context = await sandbox.createCodeContext();
	const started = [];
	let over = false;
	let asleep = 0;
	const sleeper = (async () => {
		/* What it interrupts would wait for the next call. */
		for (; !over; asleep++)
			await sandbox.sleep().catch((error) => {
				assert.equal(error.code, 'RESOURCE_BUSY');
			});
	})();
	const calls = [
		async (i) => assert.equal((await sandbox.exec(`echo ${i}`)).stdout,
			`${i}\n`),
		async (i) => sandbox.writeFile(`f${i}`, String(i)),
		async (i) => assert.equal((await sandbox.runCode(`${i}`,
			{ context })).results[0].text, String(i)),
		async () => assert.equal((await fetchRaw(
			new URL('/teapot', url))).status, 418),
		async (i) => started.push(await sandbox.startProcess(
			`sleep 0.01; echo p${i}`)),
	];

	try {
		for (let i = 0; i < 40; i += calls.length)
			await Promise.all(calls.map((call, n) => call(i + n)));
	} finally {
		over = true;
		await sleeper;
	}
	assert.ok(asleep > 5);
	await sandbox.wake();
	for (const made of started)
		assert.equal((await made.waitForExit(60_000)).exitCode, 0);
	/* What is told in the end is so. */
	await sandbox.sleep();
	await pause(1000);
	assert.equal(await stateOf(sandbox), 'sleeping');
	if (!stack.noOperator)
		assert.equal(await rowState(id), 'sleeping');
	await sandbox.wake();
	if (!stack.noOperator)
		assert.equal(await rowState(id), 'running');
});
