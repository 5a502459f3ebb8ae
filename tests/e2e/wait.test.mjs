/**
 * Processes: signals, input, waits on the server, ends.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseSSEStream } from '../../clients/js/index.js';
import { pause, timed, until, useStack, within } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };

const api = (sandbox, path) => `/v1/sandboxes/${sandbox.name}/api/${path}`;

const wait = (sandbox, id, body) =>
	stack.call('POST', api(sandbox, `process/${id}/wait`), body);

const SERVER = (port, host) => 'node -e "require(\'http\')' +
	'.createServer((q, s) => { s.statusCode = q.url === \'/busy\' ? 503 : ' +
	`200; s.end() }).listen(${port}, '${host}', () => console.log('up'))"`;

test('a line is waited for by text and by pattern, on both streams', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const started = await sandbox.startProcess(
			'echo first; sleep 0.3; echo "ready on 8080"; ' +
			'sleep 0.3; echo "Warning: low" >&2; sleep 600');

		assert.deepEqual(await started.waitForLog('ready', 10_000),
			{ line: 'ready on 8080', stream: 'stdout' });
		assert.deepEqual(
			await started.waitForLog(/WARNING: (\w+)(x)?/i, 10_000),
			{ line: 'Warning: low', stream: 'stderr',
				match: ['Warning: low', 'low', null] });
		/* What was printed before counts. */
		assert.equal((await started.waitForLog(/^first$/, 10_000)).line,
			'first');
	});

test('a line without its end is seen, a split one whole', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const started = await sandbox.startProcess(
			'printf "port 80"; sleep 0.05; printf "80\\n"; ' +
			'printf "prompt> "; sleep 600');

		assert.equal((await started.waitForLog(/prompt/, 10_000)).line,
			'prompt> ');
		assert.equal((await started.waitForLog(/port \d+/, 10_000)).line,
			'port 8080');
	});

test('a wait ends at its time, or with the process', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const quiet = await sandbox.startProcess('sleep 600');
	const noisy = await sandbox.startProcess(
		'while :; do echo tick; sleep 0.01; done');

	for (const { id } of [quiet, noisy])
		for (const body of [{ for: 'log', log: { text: 'never' } },
			{ for: 'port', port: { port: 81, mode: 'tcp' } },
			{ for: 'exit' }]) {
			const { ms, value } = await timed(() =>
				wait(sandbox, id, { ...body, timeoutMs: 300 }));
			assert.equal(value.status, 408, value.text);
			assert.equal(value.json.code, 'PROCESS_READY_TIMEOUT');
			assert.match(value.json.message, body.for === 'exit'
				? /timeout.*did not end within 300ms/i
				: /timeout.*did not become ready/i);
			assert.ok(ms >= 290, `${ms} ms`);
		}
	const short = await sandbox.startProcess('sleep 0.5; exit 3');
	const all = await Promise.all([{ for: 'log', log: { text: 'x' } },
		{ for: 'port', port: { port: 81 } }].map((body) =>
		wait(sandbox, short.id, { ...body, timeoutMs: 30_000 })));
	for (const { status, json } of all) {
		assert.equal(status, 500);
		assert.equal(json.code, 'PROCESS_EXITED_BEFORE_READY');
		assert.equal(json.context.exitCode, 3);
		assert.match(json.message, /exited with code 3/);
	}
	assert.deepEqual(await short.waitForExit(1000),
		{ exitCode: 3, reason: 'exited' });
});

for (const host of ['127.0.0.1', '::1'])
	test(`a server on ${host} is found, by both modes`, limit, async (t) => {
		const sandbox = stack.sandbox(t);
		const server = await sandbox.startProcess(
			`sleep 0.3; ${SERVER(8200, host)}`);

		await server.waitForPort(8200, { mode: 'tcp', timeout: 20_000 });
		await server.waitForPort(8200, { timeout: 10_000 });
		await server.waitForPort(8200,
			{ path: '/busy', status: 503, timeout: 10_000 });
		await assert.rejects(server.waitForPort(8200,
			{ path: '/busy', timeout: 400 }),
		{ code: 'PROCESS_READY_TIMEOUT' });
	});

test('a port that takes connections and says nothing is no HTTP server',
	limit, async (t) => {
		const sandbox = stack.sandbox(t);
		const server = await sandbox.startProcess('node -e "require(\'net\')' +
			'.createServer(() => {}).listen(8201)"');

		await server.waitForPort(8201, { mode: 'tcp', timeout: 20_000 });
		await assert.rejects(server.waitForPort(8201, { timeout: 500 }),
			{ code: 'PROCESS_READY_TIMEOUT' });
	});

test('a pattern cannot hang the service', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const started = await sandbox.startProcess(
		`echo ${'a'.repeat(64)}b; sleep 600`);
	const value = await wait(sandbox, started.id,
		{ for: 'log', log: { regex: '^(a|aa)+$|^(a*)*c' },
			timeoutMs: 20_000 });

	assert.equal(value.status, 400);
	assert.match(value.json.message, /too long/);
	for (const log of [{ regex: '(' }, { regex: 'a', flags: 'q' }, {},
		{ text: 'a', regex: 'b' }, { regex: 'x'.repeat(2000) }])
		assert.equal((await wait(sandbox, started.id,
			{ for: 'log', log })).status, 400);
	for (const body of [{}, { for: 'luck' }, { for: 'log' },
		{ for: 'port', port: { port: 0 } },
		{ for: 'port', port: { port: 1, path: 'x' } }])
		assert.equal((await wait(sandbox, started.id, body)).status, 400);
	assert.equal((await wait(sandbox, 'none', { for: 'exit' })).status, 404);
});

async function watched(sandbox, body) {
	const answer = await stack.call('POST', api(sandbox, 'port-watch'), body);

	return answer.text.split('\n\n')
		.filter((frame) => frame.startsWith('data: '))
		.map((frame) => JSON.parse(frame.replace(/^data: /, '')));
}

test('port-watch tells that a port is ready, or that its process ended',
	limit, async (t) => {
		const sandbox = stack.sandbox(t);
		const server = await sandbox.startProcess(
			`sleep 0.4; ${SERVER(8202, '127.0.0.1')}`);
		const events = await watched(sandbox,
			{ port: 8202, processId: server.id, interval: 1 });

		assert.deepEqual(events.map(({ type }) => type),
			['watching', 'ready']);
		assert.equal(events[1].statusCode, 200);
		assert.equal(events[1].port, 8202);
		assert.equal((await watched(sandbox, { port: 8202, mode: 'tcp' }))
			.at(-1).type, 'ready');
		const brief = await sandbox.startProcess('sleep 0.3; exit 4');
		const ended = await within(10_000, 'the end', watched(sandbox,
			{ port: 8203, processId: brief.id }));
		assert.equal(ended.at(-1).type, 'process_exited');
		assert.equal(ended.at(-1).exitCode, 4);
		const again = await watched(sandbox,
			{ port: 8203, processId: brief.id });
		assert.equal(again.at(-1).type, 'process_exited');
	});

test('signals are sent by name and by number', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const started = await sandbox.startProcess('node -e "' +
		'process.on(\'SIGUSR2\', () => console.log(\'usr2\'));' +
		'process.on(\'SIGHUP\', () => console.log(\'hup\'));' +
		'setInterval(() => {}, 1000); console.log(\'ready\')"');

	await started.waitForLog('ready', 20_000);
	for (const signal of ['USR2', 'SIGUSR2', 12, '12'])
		await started.signal(signal);
	await started.signal('SIGHUP');
	await started.waitForLog('hup', 10_000);
	assert.equal(await started.getStatus(), 'running');
	await assert.rejects(started.signal('NONE'), { httpStatus: 400 });
	await assert.rejects(started.signal(0), { httpStatus: 400 });
	await started.signal('SIGKILL');
	assert.equal((await started.waitForExit(5000)).exitCode, 137);
	assert.equal(await started.getStatus(), 'killed');
	await assert.rejects(sandbox.signalProcess('none', 'TERM'),
		{ httpStatus: 404 });
});

test('input is written and closed while the process runs', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const started = await sandbox.startProcess(
			'while read -r line; do echo "got $line"; done; ' +
			'echo end', { openStdin: true });

		await started.writeStdin('one "$x"\n');
		await started.waitForLog('got one "$x"', 10_000);
		await started.writeStdin(Uint8Array.from([0x74, 0x77, 0x6f, 0x0a]));
		await started.waitForLog('got two', 10_000);
		await started.closeStdin();
		assert.equal((await started.waitForExit(10_000)).exitCode, 0);
		await assert.rejects(started.writeStdin('x'),
			{ httpStatus: 409, code: 'STDIN_CLOSED' });
		const closed = await sandbox.startProcess('cat; echo ended');
		assert.equal((await closed.waitForExit(10_000)).exitCode, 0);
		await assert.rejects(closed.writeStdin('x'), { httpStatus: 409 });
	});

test('kill answers when all of it is gone, again and again', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const started = await sandbox.startProcess(
			'setsid sleep 631 & sleep 631 & wait');
		const kill = () => stack.call('DELETE',
			api(sandbox, `process/${started.id}`));

		const first = await kill();
		assert.equal(first.json.status, 'killed');
		assert.equal(first.json.exitCode, 143);
		assert.equal((await sandbox.exec('pgrep -fc "^sleep 631"')).stdout,
			'0\n');
		assert.equal((await kill()).status, 200);
		assert.equal((await stack.call('DELETE',
			api(sandbox, 'process/none'))).status, 404);
	});

test('the list is filtered by status, and finished ones are removed', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const runs = await sandbox.startProcess('sleep 600');
		const ended = await Promise.all(['true', 'false'].map(
			(command) => sandbox.startProcess(command,
				{ processId: command })));

		for (const process of ended)
			await process.waitForExit(10_000);
		const ids = async (status) => (await sandbox.listProcesses(
			{ status })).map(({ id }) => id);
		await until(5000, 'their rows', async () =>
			(await ids('completed')).length === 1 &&
			(await ids('failed')).length === 1);
		assert.deepEqual(await ids('running'), [runs.id]);
		assert.deepEqual(await ids('completed'), ['true']);
		assert.deepEqual(await ids('failed'), ['false']);
		await until(5000, 'removal of both', async () =>
			await sandbox.cleanupCompletedProcesses() >= 0 &&
			(await ids()).length === 1);
		assert.equal(await sandbox.getProcess('true'), null);
		/* The id is free; nothing of the former one is in its log. */
		const again = await sandbox.startProcess('echo new',
			{ processId: 'true' });
		await again.waitForExit(10_000);
		assert.equal((await again.getLogs()).stdout, 'new\n');
	});

test('a start that failed is a record with its reason', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await assert.rejects(sandbox.startProcess('true',
		{ processId: 'p', cwd: '/no/such' }), { httpStatus: 400 });
	const failed = await sandbox.getProcess('p');
	assert.equal(failed.status, 'error');
	assert.match(failed.error, /\/no\/such/);
	const none = await stack.call('POST', api(sandbox, 'process/start'),
		{ argv: ['/no/program'], processId: 'q' });
	assert.equal(none.status, 404);
	assert.deepEqual((await sandbox.listProcesses({ status: 'error' }))
		.map(({ id }) => id).sort(), ['p', 'q']);
	/* It took the name of nobody. */
	const started = await sandbox.startProcess('echo ok',
		{ processId: 'p' });
	assert.equal((await started.waitForExit(10_000)).exitCode, 0);
	for (const processId of ['list', 'kill-all', 'a b'])
		await assert.rejects(sandbox.startProcess('true', { processId }),
			{ httpStatus: 400 });
});

test('autoCleanup forgets a process that has ended', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const started = await sandbox.startProcess(
		'until test -e /tmp/go; do sleep 0.05; done; exit 5',
		{ autoCleanup: true });
	const stream = await sandbox.streamProcessLogs(started.id);
	const exit = started.waitForExit(30_000);
	const events = (async () => {
		const all = [];
		for await (const event of parseSSEStream(stream))
			all.push(event);
		return all;
	})();

	await pause(1000); /* it is asked before the end, by another worker */
	await sandbox.writeFile('/tmp/go', '');
	assert.equal((await exit).exitCode, 5);
	assert.equal((await events).at(-1).exitCode, 5);
	assert.equal(await sandbox.getProcess(started.id), null);
	assert.deepEqual(await sandbox.listProcesses(), []);
});
