/**
 * Background processes and ports of the public client: behaviours 33 to 43
 * of its wire. (What its Worker half builds on them, such as waitForLog, is
 * shown by the streams that it reads.)
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseSSEStream } from '@cloudflare/sandbox';

import {
	all, limit, logged, runs, SESSIONLESS, textOf, timed, until, upTo,
	useWire,
} from './client.mjs';

const wire = useWire();
const unknown = {
	name: 'ProcessNotFoundError',
	code: 'PROCESS_NOT_FOUND',
	httpStatus: 404,
	message: /not found|does not exist|invalid|unknown/i,
};

async function status(client, id) {
	return (await client.processes.getProcess(id)).process.status;
}

/** Whether a pid that the client was told is alive in the sandbox. */
async function alive(client, pid) {
	const { exitCode } = await client.commands.execute(
		`kill -0 ${pid} 2>/dev/null`, SESSIONLESS);

	return exitCode === 0;
}

test('33 process: an unknown one is a ProcessNotFoundError', limit,
	async (t) => {
		const { commands, processes } = wire.client(t);

		await commands.execute('true', 's');
		for (const name of ['killProcess', 'getProcess',
			'getProcessLogs', 'streamProcessLogs'])
			await assert.rejects(processes[name]('none-1'), unknown);
	});

test('34 process: a fast one has its pid and its log at once', limit,
	async (t) => {
		const client = wire.client(t);

		for (let i = 0; i < 5; i++) {
			const started = await client.processes.startProcess(
				`echo fast ${i}; echo bad >&2`, 's');
			assert.equal(started.success, true);
			assert.ok(Number.isInteger(started.pid) && started.pid > 0);
			assert.match(started.processId, /^proc_\d+_\w+$/);
			const { stdout, stderr } = await client.processes
				.getProcessLogs(started.processId);
			assert.deepEqual({ stdout, stderr },
				{ stdout: `fast ${i}\n`, stderr: 'bad\n' });
			await until(5000, 'its end is known', async () =>
				await status(client, started.processId) ===
				'completed');
		}
	});

test('34 process: an own id, env and cwd are taken, the states are told',
	limit, async (t) => {
		const client = wire.client(t);
		const { processes } = client;
		const started = await processes.startProcess(
			'echo $A $PWD; exit 3', 's',
			{ processId: 'mine', env: { A: 'a' }, cwd: '/tmp' });

		assert.equal(started.processId, 'mine');
		await until(5000, 'it failed', async () =>
			await status(client, 'mine') === 'failed');
		const { process } = await processes.getProcess('mine');
		assert.equal(process.id, 'mine');
		assert.equal(process.exitCode, 3);
		assert.equal(process.command, 'echo $A $PWD; exit 3');
		assert.ok(Date.parse(process.startTime) <=
			Date.parse(process.endTime));
		assert.equal((await processes.getProcessLogs('mine')).stdout,
			'a /tmp\n');
		await processes.startProcess('sleep 300', 's',
			{ processId: 'runs' });
		await assert.rejects(processes.startProcess('true', 's',
			{ processId: 'runs' }), { httpStatus: 409 });
		await assert.rejects(processes.startProcess('', 's'),
			{ httpStatus: 400 });
	});

for (const depth of [2, 4])
	test(`35 process: kill ends a tree of ${depth} levels`, limit,
		async (t) => {
			const client = wire.client(t);
			const mark = `30${depth}.25`;

			await client.files.writeFile('/tmp/level.sh',
				'if [ "$1" -le 1 ]; then echo deepest; ' +
				`exec sleep ${mark}; fi\n` +
				'bash /tmp/level.sh $(($1 - 1)) & wait\n', 's');
			const { processId } = await client.processes.startProcess(
				`bash /tmp/level.sh ${depth}`, 's');
			await logged(client, processId, 'deepest');
			await until(5000, 'the leaf runs', () =>
				runs(client, `sleep ${mark}`));
			await client.processes.killProcess(processId);
			assert.equal(await runs(client, `sleep ${mark}`), false);
			assert.equal(await runs(client, 'level.sh'), false);
			assert.equal(await status(client, processId), 'killed');
		});

test('36 process: killAll ends three at once', limit, async (t) => {
	const client = wire.client(t);
	const started = await Promise.all([1, 2, 3].map(() =>
		client.processes.startProcess('sleep 300', 's')));

	for (const { pid } of started)
		assert.equal(await alive(client, pid), true);
	const answer = await client.processes.killAllProcesses();
	assert.equal(answer.cleanedCount, 3);
	for (const { pid, processId } of started) {
		assert.equal(await alive(client, pid), false);
		assert.equal(await status(client, processId), 'killed');
	}
});

test('37 process: one that ignores TERM is killed after 4 s or more', limit,
	async (t) => {
		const client = wire.client(t);
		const { processId } = await client.processes.startProcess(
			'trap "" TERM; echo ready; while :; do sleep 1; done', 's');

		await logged(client, processId, 'ready');
		const { ms } = await timed(async () => {
			await client.processes.killProcess(processId);
			await until(30_000, 'it is killed', async () =>
				await status(client, processId) === 'killed');
		});
		assert.ok(ms >= 4000, `${ms} ms`);
		const { process } = await client.processes.getProcess(processId);
		assert.equal(process.exitCode, 137);
	});

test('38 process: its stream has lines as they come, and the exit', limit,
	async (t) => {
		const client = wire.client(t);
		const { processId } = await client.processes.startProcess(
			'for i in 1 2 3 4; do echo line $i; sleep 0.5; done; exit 7',
			's');
		const arrived = [];
		const events = [];

		for await (const event of parseSSEStream(
			await client.processes.streamProcessLogs(processId))) {
			events.push(event);
			if (event.type === 'stdout')
				arrived.push(performance.now());
		}
		assert.equal(textOf(events, 'stdout'),
			'line 1\nline 2\nline 3\nline 4\n');
		assert.ok(arrived.at(-1) - arrived[0] > 700);
		const exits = events.filter((event) => event.type === 'exit');
		assert.equal(exits.length, 1);
		assert.equal(exits[0].exitCode, 7);
		assert.equal(exits[0].processId, processId);
		assert.equal(events.at(-1), exits[0]);
	});

test('39 process: deleting a session kills what it runs', limit,
	async (t) => {
		const client = wire.client(t);

		await client.utils.createSession({ id: 'gone' });
		await client.utils.createSession({ id: 'stays' });
		const doomed = await client.processes.startProcess('sleep 300',
			'gone');
		const other = await client.processes.startProcess('sleep 300',
			'stays');
		await client.utils.deleteSession('gone');
		await until(10_000, 'it is gone', async () =>
			!await alive(client, doomed.pid));
		assert.equal(await status(client, doomed.processId), 'killed');
		assert.equal(await status(client, other.processId), 'running');
	});

test('40 process: one that runs never blocks a command', limit,
	async (t) => {
		const { commands, processes } = wire.client(t);

		await commands.execute('true', 's');
		await processes.startProcess('sleep 300', 's');
		assert.equal((await commands.execute('echo free', 's')).stdout,
			'free\n');
	});

for (const [stream, to] of [['stdout', ''], ['stderr', ' >&2']])
	test(`41 ready: a reader of the log sees the line on ${stream}`, limit,
		async (t) => {
			const client = wire.client(t);
			const { processId } = await client.processes.startProcess(
				'sleep 0.5; echo Server ready on port ' +
				`8080${to}; sleep 300`, 's');
			const events = await upTo(
				await client.processes.streamProcessLogs(processId),
				(event) => event.type === stream);

			assert.match(textOf(events, stream),
				/^Server ready on port \d+\n$/);
			assert.equal(await status(client, processId), 'running');
		});

test('42 ready: an exit before the line is seen as the exit', limit,
	async (t) => {
		const client = wire.client(t);
		const { processId } = await client.processes.startProcess(
			'echo starting; sleep 0.3; exit 4', 's');
		const events = await all(
			await client.processes.streamProcessLogs(processId));

		assert.equal(textOf(events, 'stdout'), 'starting\n');
		assert.equal(events.at(-1).type, 'exit');
		assert.equal(events.at(-1).exitCode, 4);
	});

const WATCH = ['POST', '/api/port-watch'];

/** Starts a server after a moment: `{processId}`. */
function later(client, port) {
	return client.processes.startProcess('echo booting; sleep 1; ' +
		`exec python3 -um http.server ${port} --bind 127.0.0.1`, 's');
}

for (const mode of ['http', 'tcp'])
	test(`43 ready: a ${mode} port is watched until it answers`, limit,
		async (t) => {
			const reason = await wire.lacks(...WATCH);
			if (reason)
				return t.skip(reason);
			const client = wire.client(t);
			const { processId } = await later(client, 8090);
			await logged(client, processId, 'booting');
			const events = await upTo(await client.ports.watchPort(
				{ port: 8090, mode, processId, interval: 100 }),
			(event) => event.type !== 'watching');

			assert.equal(events[0].type, 'watching');
			assert.equal(events[0].port, 8090);
			assert.equal(events[1].type, 'ready');
			assert.equal(events[1].port, 8090);
			if (mode === 'http')
				assert.equal(events[1].statusCode, 200);
		});

test('43 ready: a watch ends when the process does', limit, async (t) => {
	const reason = await wire.lacks(...WATCH);
	if (reason)
		return t.skip(reason);
	const client = wire.client(t);
	const { processId } = await client.processes.startProcess(
		'sleep 1; exit 5', 's');
	const events = await all(await client.ports.watchPort(
		{ port: 8091, mode: 'tcp', processId }));

	assert.equal(events.at(-1).type, 'process_exited');
	assert.equal(events.at(-1).port, 8091);
	assert.equal(events.at(-1).exitCode, 5);
});

test('43 ready: a status out of range is not ready', limit, async (t) => {
	const reason = await wire.lacks(...WATCH);
	if (reason)
		return t.skip(reason);
	const client = wire.client(t);
	const { processId } = await later(client, 8092);
	const watch = { port: 8092, mode: 'http', path: '/none', processId };
	const strict = all(await client.ports.watchPort(watch));
	const lax = await upTo(await client.ports.watchPort(
		{ ...watch, statusMin: 404, statusMax: 404 }),
	(event) => event.type === 'ready');

	assert.equal(lax.at(-1).statusCode, 404);
	await client.processes.killProcess(processId);
	const types = (await strict).map((event) => event.type);
	assert.deepEqual(types, ['watching', 'process_exited']);
});
