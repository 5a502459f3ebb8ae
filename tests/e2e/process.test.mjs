/**
 * Background processes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseSSEStream } from '../../clients/js/index.js';
import { initsOf } from './lib/hostproc.mjs';
import { timed, until, useStack, within } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };

async function pidsIn(sandbox, path) {
	const { content } = await sandbox.readFile(path);

	return content.trim().split('\n').map(Number);
}

/** Those of ${pids} that are alive in the sandbox. */
async function alive(sandbox, pids) {
	const { stdout } = await sandbox.exec(
		`for p in ${pids.join(' ')}; do ` +
		'kill -0 $p 2>/dev/null && echo $p; done; true');

	return stdout.trim() === '' ? [] : stdout.trim().split('\n');
}

test('a started process is running and listed', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const started = await sandbox.startProcess('sleep 600');

	assert.match(started.id, /^proc_/);
	assert.ok(Number.isInteger(started.pid) && started.pid > 1);
	assert.equal(started.command, 'sleep 600');
	assert.ok(started.startTime instanceof Date);
	assert.equal(await started.getStatus(), 'running');
	const listed = await sandbox.listProcesses();
	assert.deepEqual(listed.map((row) => row.id), [started.id]);
	assert.equal(listed[0].command, 'sleep 600');
	assert.ok(Math.abs(listed[0].startTime - Date.now()) < 60_000);
});

test('a fast command has its pid, logs and status', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const started = await sandbox.startProcess(
		'echo out; echo err >&2; exit 0');

	assert.ok(started.pid > 1);
	const end = await started.waitForExit(10_000);
	assert.deepEqual(end, { exitCode: 0, reason: 'exited' });
	const logs = await started.getLogs();
	assert.equal(logs.stdout, 'out\n');
	assert.equal(logs.stderr, 'err\n');
	assert.equal(await started.getStatus(), 'completed');
	assert.ok(started.endTime >= started.startTime);
});

test('a process that fails says how', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const started = await sandbox.startProcess('exit 7');

	assert.equal((await started.waitForExit(10_000)).exitCode, 7);
	assert.equal(await started.getStatus(), 'failed');
	assert.equal(started.exitCode, 7);
});

test('a process that init has not begun yet is starting',
	{ ...limit, skip: process.getuid() !== 0 && 'needs root' },
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.exec('true');
		const [init] = initsOf((await sandbox.getInfo()).id);
		if (init === undefined)
			return t.skip('the sandbox is on another machine');
		process.kill(init, 'SIGSTOP');
		const started = sandbox.startProcess('sleep 600',
			{ processId: 'slow' });
		try {
			await until(5000, 'the process', () =>
				sandbox.getProcess('slow'));
			assert.equal((await sandbox.getProcess('slow')).status,
				'starting');
			assert.deepEqual((await sandbox.listProcesses())
				.map(({ status }) => status), ['starting']);
		} finally {
			process.kill(init, 'SIGCONT');
		}
		assert.equal((await started).id, 'slow');
		assert.equal((await sandbox.getProcess('slow')).status, 'running');
	});

test('an unknown process is null to get and 404 to kill', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.exec('true');
		assert.equal(await sandbox.getProcess('proc_none'), null);
		const refusal = { httpStatus: 404, code: 'PROCESS_NOT_FOUND' };
		await assert.rejects(sandbox.killProcess('proc_none'), refusal);
		await assert.rejects(sandbox.getProcessLogs('proc_none'),
			refusal);
		await assert.rejects(sandbox.streamProcessLogs('proc_none'),
			refusal);
	});

test('an empty command is 400', limit, async (t) => {
	await assert.rejects(stack.sandbox(t).startProcess(''),
		{ httpStatus: 400 });
});

test('the id may be chosen, once', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const started = await sandbox.startProcess('sleep 600',
		{ processId: 'web' });

	assert.equal(started.id, 'web');
	assert.equal((await sandbox.getProcess('web')).status, 'running');
	await assert.rejects(
		sandbox.startProcess('true', { processId: 'web' }),
		{ httpStatus: 409 });
});

test('env and cwd reach the process', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const started = await sandbox.startProcess('pwd; echo "$V"',
		{ cwd: '/tmp', env: { V: 'a b' } });

	await started.waitForExit(10_000);
	assert.equal((await started.getLogs()).stdout, '/tmp\na b\n');
});

for (const depth of [2, 4]) {
	test(`kill ends a tree ${depth} levels deep`, limit, async (t) => {
		const sandbox = stack.sandbox(t);
		const script = '#!/bin/bash\necho $$ >> /tmp/pids\n' +
			'(( $1 > 1 )) && /tmp/tree.sh $(($1 - 1)) &\n' +
			'sleep 600 & echo $! >> /tmp/pids\nwait\n';

		await sandbox.writeFile('/tmp/tree.sh', script);
		await sandbox.exec('chmod +x /tmp/tree.sh');
		const tree = await sandbox.startProcess(
			`/tmp/tree.sh ${depth}`);
		const pids = await until(10_000, 'the tree', async () => {
			if (!(await sandbox.exists('/tmp/pids')).exists)
				return undefined;
			const found = await pidsIn(sandbox, '/tmp/pids');
			return found.length === 2 * depth && found;
		});
		assert.equal((await alive(sandbox, pids)).length, 2 * depth);
		await tree.kill();
		assert.deepEqual(await alive(sandbox, pids), []);
		assert.equal(await tree.getStatus(), 'killed');
	});
}

test('killAll ends three at once and they are really dead', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const started = await Promise.all([1, 2, 3].map(
			() => sandbox.startProcess('exec sleep 600')));
		const pids = started.map((process) => process.pid);

		assert.equal((await alive(sandbox, pids)).length, 3);
		assert.equal(await sandbox.killAllProcesses(), 3);
		assert.deepEqual(await alive(sandbox, pids), []);
		assert.equal(await sandbox.killAllProcesses(), 0);
	});

test('who ignores SIGTERM gets SIGKILL after the grace', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const deaf = await sandbox.startProcess(
			'trap "" TERM; echo ready; while :; do sleep 0.1; done');

		await deaf.waitForLog('ready', 10_000);
		const exit = deaf.waitForExit(20_000);
		const { ms } = await timed(async () => {
			await deaf.kill();
			await exit;
		});
		assert.ok(ms >= 4000, `${ms} ms`);
		assert.equal(await deaf.getStatus(), 'killed');
		assert.equal(deaf.exitCode, 137);
	});

test('a log stream replays, follows and ends with the exit', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const started = await sandbox.startProcess(
			'echo before; until test -e /tmp/go; do sleep 0.05; done; ' +
			'echo after; exit 4');
		const events = [];

		await started.waitForLog('before', 10_000);
		const stream = await sandbox.streamProcessLogs(started.id);
		for await (const event of parseSSEStream(stream)) {
			events.push(event);
			if (event.data === 'before\n')
				await sandbox.writeFile('/tmp/go', '');
		}
		assert.equal(events[0].type, 'process_info');
		assert.equal(events[0].processId, started.id);
		assert.deepEqual(
			events.filter((event) => event.type === 'stdout')
				.map((event) => event.data),
			['before\n', 'after\n']);
		assert.equal(events.at(-1).type, 'exit');
		assert.equal(events.at(-1).exitCode, 4);
		assert.equal(events.at(-1).reason, 'exited');
	});

test('many readers of one process read the same', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const started = await sandbox.startProcess(
		'for i in $(seq 50); do echo line $i; done; sleep 0.3; echo end');
	const texts = await Promise.all(Array.from({ length: 8 }, async () => {
		let text = '';
		for await (const event of parseSSEStream(
			await sandbox.streamProcessLogs(started.id)))
			if (event.type === 'stdout')
				text += event.data;
		return text;
	}));

	assert.match(texts[0], /^line 1\n[^]*line 50\nend\n$/);
	for (const text of texts)
		assert.equal(text, texts[0]);
});

test('readers that leave do not disturb the process', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const started = await sandbox.startProcess(
		'while :; do echo tick; sleep 0.02; done');

	for (let i = 0; i < 10; i++)
		for await (const event of parseSSEStream(
			await sandbox.streamProcessLogs(started.id)))
			if (event.type === 'stdout')
				break;
	assert.equal(await started.getStatus(), 'running');
	assert.equal((await sandbox.exec('echo ok')).stdout, 'ok\n');
});

test('the logs of an ended process stay', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const started = await sandbox.startProcess('seq 1000');

	await started.waitForExit(10_000);
	const expected = Array.from({ length: 1000 }, (_, i) => `${i + 1}\n`);
	assert.equal((await started.getLogs()).stdout, expected.join(''));
	let text = '';
	for await (const event of parseSSEStream(
		await sandbox.streamProcessLogs(started.id)))
		if (event.type === 'stdout')
			text += event.data;
	assert.equal(text, expected.join(''));
});

test('a process has no deadline unless asked, and keeps one', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const started = await sandbox.startProcess('sleep 600',
			{ timeout: 300 });
		const end = await started.waitForExit(10_000);

		assert.equal(end.reason, 'timed_out');
		/* But for the tenant's plan, which by default says a week. */
		const { limits } = await sandbox.create();
		assert.ok(limits.wallMs >= 7 * 24 * 3600 * 1000);
	});

test('a running process delays no command', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.startProcess('sleep 600');
	assert.equal((await sandbox.exec('echo hi')).stdout, 'hi\n');
});

test('callbacks of startProcess are called', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const seen = [];
	const exit = new Promise((resolve, reject) => {
		sandbox.startProcess('echo out; exit 5', {
			onStart: (process) => seen.push(process.id),
			onOutput: (...args) => seen.push(args),
			onExit: resolve,
			onError: reject,
		}).catch(reject);
	});

	assert.equal(await within(10_000, 'the exit', exit), 5);
	assert.match(seen[0], /^proc_/);
	assert.deepEqual(seen[1], ['stdout', 'out\n']);
});

test('waiting for a line that never comes is told', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const quiet = await sandbox.startProcess('sleep 600');
	const ended = await sandbox.startProcess('true');

	await assert.rejects(quiet.waitForLog('x', 300),
		{ code: 'PROCESS_READY_TIMEOUT' });
	await assert.rejects(ended.waitForLog('x', 10_000),
		{ code: 'PROCESS_EXITED_BEFORE_READY' });
});
