/**
 * Commands of the public client: behaviours 1 to 15 of its wire.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseSSEStream, SessionTerminatedError } from '@cloudflare/sandbox';

import {
	all, COMPAT, limit, logged, pause, textOf, upTo, useWire,
} from './client.mjs';

const wire = useWire();

test('1 exec: echo, a written file, cat and pwd after cd agree', limit,
	async (t) => {
		const { commands } = wire.client(t);
		const echo = await commands.execute('echo "hello there"', 's');

		assert.equal(echo.success, true);
		assert.equal(echo.exitCode, 0);
		assert.equal(echo.stdout, 'hello there\n');
		assert.equal(echo.stderr, '');
		assert.equal(echo.command, 'echo "hello there"');
		assert.ok(!Number.isNaN(Date.parse(echo.timestamp)));
		await commands.execute('mkdir -p d && echo kept > d/f', 's');
		await commands.execute('cd d', 's');
		const cat = await commands.execute('cat f && pwd', 's');
		assert.equal(cat.stdout, 'kept\n/workspace/d\n');
	});

for (const code of [1, 42])
	test(`2 exec: exit ${code} is told as the end of the shell, and the ` +
		'next command has a fresh one', limit, async (t) => {
		const { commands } = wire.client(t, { headers: COMPAT });

		await assert.rejects(commands.execute(`exit ${code}`, 's'),
			(error) => {
				assert.ok(error instanceof SessionTerminatedError);
				assert.equal(error.httpStatus, 410);
				assert.equal(error.code, 'SESSION_TERMINATED');
				assert.equal(error.context.sessionId, 's');
				assert.equal(error.context.exitCode, code);
				assert.match(error.message, /shell exited/);
				assert.match(error.message,
					new RegExp(`exit code: ${code}`));
				return true;
			});
		const next = await commands.execute('echo alive', 's');
		assert.equal(next.stdout, 'alive\n');
	});

test('2 exec: without the header an exit is an exit code', limit,
	async (t) => {
		const { commands } = wire.client(t);
		const answer = await commands.execute('exit 42', 's');

		assert.equal(answer.exitCode, 42);
		assert.equal(answer.success, false);
	});

test('3 exec: one session\'s end leaves the others as they were', limit,
	async (t) => {
		const { commands } = wire.client(t, { headers: COMPAT });

		await commands.execute('export KEPT=yes', 'other');
		await assert.rejects(commands.execute('exit 3', 'ends'),
			SessionTerminatedError);
		const other = await commands.execute('echo $KEPT', 'other');
		assert.equal(other.stdout, 'yes\n');
		const third = await commands.execute('echo new', 'third');
		assert.equal(third.stdout, 'new\n');
	});

test('4 exec: commands that read their input end at once', limit,
	async (t) => {
		const { commands } = wire.client(t);

		await commands.execute('true', 's');
		for (const command of ['cat', 'read line', 'grep x', 'head -1'])
			await commands.execute(command, 's');
		const after = await commands.execute('echo on', 's');
		assert.equal(after.stdout, 'on\n');
	});

test('5 exec: an unknown command is 127 and "not found"', limit,
	async (t) => {
		const { commands } = wire.client(t);
		const answer = await commands.execute('no-such-program-1', 's');

		assert.equal(answer.exitCode, 127);
		assert.equal(answer.success, false);
		assert.match(answer.stderr, /not found/i);
	});

test('6 exec: env and cwd of a call are that call\'s only', limit,
	async (t) => {
		const { commands } = wire.client(t);
		const show = 'echo ${ONE-unset} $PWD';
		const with_ = await commands.execute(show, 's',
			{ env: { ONE: '1' }, cwd: '/tmp' });

		assert.equal(with_.stdout, '1 /tmp\n');
		const without = await commands.execute(show, 's');
		assert.equal(without.stdout, 'unset /workspace\n');
	});

test('7 timeout: a late command fails with 500 and says timeout', limit,
	async (t) => {
		const client = wire.client(t, { headers: COMPAT });

		await client.utils.createSession({ id: 'made' });
		for (const session of ['default', 'made']) {
			await assert.rejects(
				client.commands.execute('sleep 600', session,
					{ timeoutMs: 1000 }),
				{
					name: 'CommandError',
					httpStatus: 500,
					code: 'COMMAND_EXECUTION_ERROR',
					message: /timeout/i,
				});
		}
	});

test('8 timeout: the session\'s applies, a call\'s wins over it', limit,
	async (t) => {
		const client = wire.client(t, { headers: COMPAT });

		await client.utils.createSession(
			{ id: 's', commandTimeoutMs: 1000 });
		await assert.rejects(client.commands.execute('sleep 600', 's'),
			{ httpStatus: 500, message: /timeout/i });
		const longer = await client.commands.execute(
			'sleep 2; echo done', 's', { timeoutMs: 60_000 });
		assert.equal(longer.stdout, 'done\n');
	});

test('9 timeout: what was late has started, never finishes, and its ' +
	'session can be deleted', limit, async (t) => {
	const client = wire.client(t, { headers: COMPAT });

	await client.utils.createSession({ id: 's' });
	await assert.rejects(client.commands.execute(
		'touch started; sleep 662; touch finished', 's',
		{ timeoutMs: 1000 }), /timeout/i);
	assert.equal((await client.files.exists('/workspace/started', 'x'))
		.exists, true);
	assert.equal((await client.utils.deleteSession('s')).success, true);
	const left = await client.commands.execute('pgrep -fc "^sleep 662"',
		'x');
	assert.equal(left.stdout.trim(), '0');
	assert.equal((await client.files.exists('/workspace/finished', 'x'))
		.exists, false);
});

test('10 stream: false starts and completes with its exit code', limit,
	async (t) => {
		const { commands } = wire.client(t);
		const events = await all(await commands.executeStream('false', 's'));

		assert.deepEqual(events.map((event) => event.type),
			['start', 'complete']);
		assert.equal(events[0].command, 'false');
		assert.equal(events[1].exitCode, 1);
	});

test('11 stream: a loop\'s output arrives while it runs', limit,
	async (t) => {
		const { commands } = wire.client(t);
		const stream = await commands.executeStream(
			'for i in 1 2 3 4 5; do echo line $i; sleep 0.4; done', 's');
		const arrived = [];
		let text = '';

		for await (const event of parseSSEStream(stream))
			if (event.type === 'stdout') {
				arrived.push(performance.now());
				text += event.data;
			}
		assert.equal(text,
			'line 1\nline 2\nline 3\nline 4\nline 5\n');
		assert.ok(arrived.length >= 3, `${arrived.length} chunks`);
		const spread = arrived.at(-1) - arrived[0];
		assert.ok(spread > 1000, `all within ${spread} ms`);
	});

test('12 stream: a stream that runs keeps the sandbox awake', limit,
	async (t) => {
		const reason = await wire.lacks('POST', '/sleep');
		if (reason)
			return t.skip(reason);
		const name = `keep-${Date.now().toString(36)}`;
		const client = wire.client(t, { name });
		const state = async () => (await wire.call('GET',
			`/v1/sandboxes/${name}`)).json.state;

		const made = await wire.call('POST', '/v1/sandboxes',
			{ name, sleepAfter: '3s' });
		assert.equal(made.status, 201);
		const events = await all(await client.commands.executeStream(
			'for i in 1 2 3 4 5 6 7; do echo $i; sleep 1; done', 's'));
		assert.equal(events.at(-1).type, 'complete');
		assert.equal(events.at(-1).exitCode, 0);
		const end = Date.now() + 30_000;
		while (await state() === 'running' && Date.now() < end)
			await pause(500);
		assert.equal(await state(), 'sleeping');
	});

test('13 stream: readers may leave, come back and be many', limit,
	async (t) => {
		const client = wire.client(t);

		for (let i = 0; i < 10; i++) {
			const stream = await client.commands.executeStream(
				'echo on; sleep 0.2; echo off', `s${i}`);
			await upTo(stream, (event) => event.type === 'start');
		}
		for (let i = 0; i < 10; i++) {
			const stream = await client.commands.executeStream(
				'true', 'ends');
			await stream.cancel();
		}
		const { processId } = await client.processes.startProcess(
			'for i in 1 2 3; do echo tick $i; sleep 0.3; done', 's');
		await logged(client, processId, 'tick 1');
		const readers = await Promise.all(Array.from({ length: 6 },
			async () => all(await client.processes
				.streamProcessLogs(processId))));
		for (const events of readers) {
			assert.equal(textOf(events, 'stdout'),
				'tick 1\ntick 2\ntick 3\n');
			assert.equal(events.at(-1).type, 'exit');
		}
		const after = await client.commands.execute('echo well', 's');
		assert.equal(after.stdout, 'well\n');
	});

test('14 env: the image\'s is there, exports persist, null unsets', limit,
	async (t) => {
		const client = wire.client(t);
		const echo = async (text, session, options) =>
			(await client.commands.execute(`echo ${text}`, session,
				options)).stdout.trim();

		assert.equal(await echo('$HOME', 's'), '/root');
		await client.commands.execute(
			'export HOME=/tmp/home; export NEW=\'a b\'', 's');
		assert.equal(await echo('"$HOME $NEW"', 's'), '/tmp/home a b');
		await client.commands.execute('unset NEW', 's');
		assert.equal(await echo('${NEW-unset}', 's'), 'unset');
		await client.utils.createSession(
			{ id: 'made', env: { A: '1', LANG: null } });
		assert.equal(await echo('$A ${LANG-unset}', 'made'), '1 unset');
		assert.equal(await echo('$A', 'made', { env: { A: null } }), '1');
	});

test('15 env: a stream\'s own wins over the session\'s, which is back ' +
	'afterwards', limit, async (t) => {
	const client = wire.client(t);
	const streamed = async (options) => textOf(await all(
		await client.commands.executeStream('echo $A $B', 's', options)),
	'stdout');

	await client.utils.createSession({ id: 's', env: { A: 'session' } });
	assert.equal(await streamed(), 'session\n');
	assert.equal(await streamed({ env: { A: 'call', B: 'b' } }), 'call b\n');
	assert.equal(await streamed(), 'session\n');
});
