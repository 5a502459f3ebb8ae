/**
 * Endings in every form that a command has: in a session, without one, as a
 * stream, as a process. What is started can be ended whole, and is told of.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { parseSSEStream } from '../../clients/js/index.js';
import { initsOf } from './lib/hostproc.mjs';
import { open, timed, until, useStack, within } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };
const NONE = '__DISABLE_SESSION__';

const api = (sandbox, path) => `/v1/sandboxes/${sandbox.name}/api/${path}`;

const post = (sandbox, path, body) =>
	stack.call('POST', api(sandbox, path), body);

const eventsIn = (text) => text.split('\n\n')
	.filter((frame) => frame.includes('data: '))
	.map((frame) => JSON.parse(/^data: (.*)$/m.exec(frame)[1]));

async function streamed(sandbox, path, body) {
	const answer = await post(sandbox, path, body);

	assert.equal(answer.status, 200, answer.text);
	return eventsIn(answer.text);
}

const textOf = (events) => events.filter(({ type }) => type === 'stdout')
	.map(({ data, text }) => data ?? text).join('');

/** How many processes in ${sandbox} have a command line like ${pattern}. */
async function countOf(sandbox, pattern) {
	const { stdout } = await sandbox.exec('pgrep -fc -- "$P"; true',
		{ env: { P: pattern }, sessionId: NONE });

	return Number(stdout);
}

test('a missing cwd is 400 and named, in every form', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const cwd = '/tmp/no such';
	const command = 'touch /tmp/ran';

	for (const [path, body] of [
		['execute', { command }],
		['execute', { command, sessionId: NONE }],
		['execute', { command, sessionId: 's' }],
		['execute', { argv: ['touch', '/tmp/ran'] }],
		['execute', { command, background: true }],
		['execute/stream', { command }],
		['execute/stream', { command, sessionId: NONE }],
		['process/start', { command }],
		['process/start', { command, sessionId: 's' }],
		['session/create', {}],
		['contexts', { language: 'python' }],
	]) {
		const { status, json } = await post(sandbox, path,
			{ ...body, cwd });
		assert.equal(status, 400, `${path} ${JSON.stringify(body)}`);
		assert.ok(json.message.includes(cwd), json.message);
	}
	assert.equal((await sandbox.exists('/tmp/ran')).exists, false);
	/* Who asks for none runs, also when the usual one is gone or a lie. */
	for (const damage of ['rm -rf /workspace', 'ln -s /nowhere /workspace'])
		for (const sessionId of [NONE, 's']) {
			await sandbox.exec(damage, { sessionId });
			const { stdout } = await sandbox.exec('echo ok',
				{ sessionId });
			assert.equal(stdout, 'ok\n', damage);
		}
});

test('what cannot be started is told as what it is', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const word = 'x'.repeat(100_000);
	const many = Object.fromEntries(Array.from({ length: 30 },
		(_, i) => [`A${i}`, word]));

	await sandbox.exec('echo > /tmp/plain');
	for (const [body, status, message] of [
		[{ argv: ['/nope'] }, 404, /not found/],
		[{ argv: ['/tmp/plain'] }, 400, /cannot be run/],
		[{ command: 'true', cwd: '/tmp/plain' }, 400,
			/\/tmp\/plain cannot be entered/],
		[{ command: 'true', env: { A: word + word } }, 400, /env\.A/],
		[{ command: 'true', env: many }, 400, /too large/],
		[{ command: 'true', env: many, sessionId: 's' }, 400,
			/too large/],
	]) {
		const answer = await post(sandbox, 'execute',
			{ sessionId: NONE, ...body });
		assert.equal(answer.status, status, answer.text);
		assert.match(answer.json.message, message);
	}
	/* The longest value that a program can be given arrives whole. */
	const { stdout } = await sandbox.exec('printenv A | wc -c', {
		sessionId: NONE, env: { A: 'y'.repeat(131_069) } });
	assert.equal(stdout, '131070\n');
});

test('a last line without its newline is kept, in every form', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const command = "printf 'a\\nb'";

		for (const sessionId of ['s', NONE]) {
			const { stdout } = await sandbox.exec(command,
				{ sessionId });
			assert.equal(stdout, 'a\nb');
			assert.equal(textOf(await streamed(sandbox,
				'execute/stream', { command, sessionId })), 'a\nb');
		}
		const started = await sandbox.startProcess(command);
		await started.waitForExit(10_000);
		assert.equal((await started.getLogs()).stdout, 'a\nb');
		const { text } = await stack.call('GET',
			api(sandbox, `process/${started.id}/stream`));
		assert.equal(textOf(eventsIn(text)), 'a\nb');
		for (const [language, code] of [
			['python', 'print("a\\nb", end="")'],
			['javascript', 'process.stdout.write("a\\nb"); 1'],
		])
			assert.equal(textOf(await streamed(sandbox, 'execute/code',
				{ language, code })), 'a\nb', language);
	});

test('bytes that are not UTF-8 are exact in base64, in every form', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const command = "printf 'a\\377\\000'; sleep 0.1; printf '\\200z'";
		const want = 'a\xff\0\x80z';
		const bytesOf = (events) => events
			.filter(({ type }) => type === 'stdout')
			.map(({ data }) => Buffer.from(data, 'base64')
				.toString('latin1')).join('');

		for (const sessionId of ['s', NONE])
			assert.equal(bytesOf(await streamed(sandbox,
				'execute/stream',
				{ command, sessionId, encoding: 'base64' })), want);
		const started = await sandbox.startProcess(command);
		await started.waitForExit(10_000);
		const path = api(sandbox, `process/${started.id}`);
		const { json } = await stack.call('GET',
			`${path}/logs?encoding=base64`);
		assert.equal(Buffer.from(json.stdout, 'base64')
			.toString('latin1'), want);
		const { text } = await stack.call('GET',
			`${path}/stream?encoding=base64`);
		assert.equal(bytesOf(eventsIn(text)), want);
		/* And as text, each of them is one U+FFFD. */
		assert.equal((await started.getLogs()).stdout,
			'a\uFFFD\0\uFFFDz');
	});

test('a background child holds no call, in any form', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const command = 'sleep 640 & echo up';

	await sandbox.exec('true');
	for (const body of [{ command, sessionId: 's' },
		{ command, sessionId: NONE },
		{ argv: ['bash', '-c', command] }])
		for (const path of ['execute', 'execute/stream']) {
			const value = await post(sandbox, path, body);
			assert.ok(value.text.includes('up\\n'), value.text);
		}
	assert.equal(await countOf(sandbox, '^sleep 640$'), 6, 'they live on');
});

test('a timeout reaches daemons that ignore TERM in sessions of their own',
	limit, async (t) => {
		const sandbox = stack.sandbox(t);
		const deaf = '(setsid bash -c \'trap "" TERM HUP; ' +
			'while :; do sleep 641; done\' &); ';
		const all = await Promise.all([
			post(sandbox, 'execute', { command: `${deaf} sleep 641`,
				timeoutMs: 400, sessionId: 's' }),
			post(sandbox, 'execute', { command: `${deaf} sleep 641`,
				timeoutMs: 400, sessionId: NONE, graceMs: 300 }),
			post(sandbox, 'execute/stream', {
				command: `${deaf} sleep 641`, timeoutMs: 400 }),
		]);

		assert.equal(await countOf(sandbox, '641'), 0);
		for (const { json } of all.slice(0, 2)) {
			assert.equal(json.reason, 'timed_out');
			assert.equal(json.exitCode, 124);
		}
		const end = eventsIn(all[2].text).at(-1);
		assert.equal(end.reason, 'timed_out');
		/* TERM, grace, KILL: 2 s of grace, or what is asked for. */
		assert.ok(all[0].json.durationMs >= 2400);
		assert.ok(all[1].json.durationMs < all[0].json.durationMs);
	});

test('who leaves has the work stopped or kept, as asked', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		await sandbox.exec('true');
		const leave = async (path, mark, body) => {
			const stop = new AbortController();
			const left = open(stack.url + api(sandbox, path), {
				method: 'POST',
				signal: stop.signal,
				headers: {
					'Authorization': `Bearer ${stack.apiKey}`,
					'Content-Type': 'application/json',
				},
				body: JSON.stringify({ sessionId: NONE, ...body }),
			}).then((response) => response.on('error', () => {}),
				() => {});
			await until(10_000, mark, async () =>
				await countOf(sandbox, `^sleep ${mark}$`) === 1);
			stop.abort();
			await left;
		};
		const command = (mark) => `sleep ${mark}`;

		/* Silent ones, too: nothing is written that could fail. */
		await leave('execute', '642', { command: command(642) });
		await leave('execute/stream', '643',
			{ command: command(643), onDisconnect: 'kill' });
		await leave('execute/stream', '644', { command: command(644) });
		await leave('execute', '645', { onDisconnect: 'keep',
			command: 'echo kept; sleep 645 & wait; exit 5' });
		for (const mark of ['642', '643'])
			await until(8000, `end of ${mark}`, async () =>
				await countOf(sandbox, `^sleep ${mark}$`) === 0);
		for (const mark of ['644', '645'])
			assert.equal(await countOf(sandbox, `^sleep ${mark}$`), 1, mark);
		/* What is kept is listed, followed and told to its end. */
		const { json } = await stack.call('GET',
			api(sandbox, 'executions'));
		const kept = json.executions.find(
			(one) => one.command.startsWith('echo kept'));
		assert.equal(kept.status, 'running');
		const events = stack.call('GET',
			api(sandbox, `executions/${kept.id}/events?after=0`));
		await sandbox.exec('pkill -fx "sleep 645"', { sessionId: NONE });
		const all = eventsIn((await within(5000, 'its end', events)).text);
		assert.equal(textOf(all), 'kept\n');
		assert.equal(all.at(-1).exitCode, 5);
	});

test('an execution is killed whole, and answers when it is gone', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const events = [];
		let killed;

		for await (const event of parseSSEStream(await sandbox.execStream(
			'setsid sleep 646 & echo begun; sleep 646'))) {
			events.push(event);
			if (event.type !== 'stdout')
				continue;
			const path = api(sandbox,
				`executions/${events[0].executionId}`);
			killed = await stack.call('DELETE', path);
			assert.equal(await countOf(sandbox, '646'), 0);
			assert.equal((await stack.call('DELETE', path)).json
				.killed, false);
		}
		assert.equal(killed.json.killed, true);
		assert.equal(events.at(-1).type, 'complete');
		assert.equal(events.at(-1).reason, 'killed');
		const one = await until(5000, 'its row', async () => {
			const { json } = await stack.call('GET', api(sandbox,
				`executions/${events[0].executionId}`));
			return json.execution.status !== 'running' &&
				json.execution;
		});
		assert.equal(one.reason, 'killed');
		assert.equal((await stack.call('DELETE',
			api(sandbox, 'executions/none'))).status, 404);
	});
test('who follows a call that is killed before its turn is told so', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const session = await sandbox.createSession({ id: 's' });
		const path = api(sandbox, 'executions');
		const first = session.exec('touch /tmp/begun; ' +
			'until test -e /tmp/go; do sleep 0.05; done; echo done');

		await until(10_000, 'the first', async () =>
			(await sandbox.exists('/tmp/begun')).exists);
		const second = post(sandbox, 'execute',
			{ command: 'echo second', sessionId: 's' });
		const { id } = await until(10_000, 'the second', async () =>
			(await stack.call('GET', path)).json.executions
				.find(({ command }) => command === 'echo second'));
		const follower = await open(`${stack.url}${path}/${id}/events`,
			{ headers: { Authorization: `Bearer ${stack.apiKey}` } });
		let text = '';

		follower.on('data', (chunk) => {
			text += chunk;
		});
		const told = new Promise((resolve) => {
			follower.on('close', resolve);
		});
		await stack.call('DELETE', `${path}/${id}`);
		assert.ok((await second).status >= 400);
		await within(20_000, 'the end', told);
		const [end, ...more] = eventsIn(text);
		assert.deepEqual(more, []);
		assert.equal(end.type, 'error');
		assert.equal(end.reason, 'killed');
		await sandbox.writeFile('/tmp/go', '');
		assert.equal((await first).stdout, 'done\n');
	});


test('a kill in the middle of a start reaches what is forked meanwhile',
	limit, async (t) => {
		const sandbox = stack.sandbox(t);
		await sandbox.exec('true');
		const command = 'for i in 1 2 3 4 5 6; do sleep 647 & done; ' +
			'sleep 647; wait';

		for (let i = 0; i < 20; i++) {
			const started = await sandbox.startProcess(command,
				i % 2 === 0 ? { sessionId: NONE } : {});
			/* Longer than this test may take: nobody needs it. */
			const { json } = await stack.call('DELETE', api(sandbox,
				`process/${started.id}?graceMs=${limit.timeout}`));
			assert.equal(json.status, 'killed');
		}
		assert.equal(await countOf(sandbox, '647'), 0);
	});

test('graceMs says how long a process may ignore TERM', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const deaf = await sandbox.startProcess(
		'trap "" TERM; echo deaf; while :; do sleep 0.1; done');

	await deaf.waitForLog('deaf', 10_000);
	const { ms, value } = await timed(() => stack.call('DELETE',
		api(sandbox, `process/${deaf.id}?graceMs=200`)));
	/* And not for the 5 s that are usual. */
	assert.ok(ms >= 200 && ms < 5000, `${ms} ms`);
	assert.equal(value.json.status, 'killed');
	assert.equal(value.json.exitCode, 137);
});

test('a kill whose end is not seen says still_running',
	{ ...limit, skip: process.getuid() !== 0 && 'needs root' },
	async (t) => {
		const sandbox = stack.sandbox(t);
		const started = await sandbox.startProcess('sleep 600');
		const { id } = await sandbox.getInfo();
		const [init] = initsOf(id);

		if (init === undefined)
			return t.skip('the sandbox is on another machine');
		process.kill(init, 'SIGSTOP');
		const { json } = await stack.call('DELETE',
			api(sandbox, `process/${started.id}?graceMs=0`))
			.finally(() => process.kill(init, 'SIGCONT'));
		assert.equal(json.success, false);
		assert.equal(json.status, 'still_running');
		await until(5000, 'its end', async () =>
			await started.getStatus() === 'killed');
		assert.equal((await sandbox.exec('echo on')).stdout, 'on\n');
	});

/* A fork takes 20 ms where others keep the machine busy. */
test('5000 orphans leave no zombie and no process', {
	timeout: 240_000,
}, async (t) => {
	const sandbox = stack.sandbox(t);
	const result = await sandbox.exec('n=0; while [ $n -lt 5000 ]; do ' +
		'(: & :); n=$((n + 1)); done; echo $n', { sessionId: NONE });

	assert.equal(result.stdout, '5000\n');
	await until(5000, 'the last of them', async () => {
		const { stdout } = await sandbox.exec('ps -eo stat= | wc -l; ' +
			'ps -eo stat= | grep -c Z', { sessionId: NONE });
		const [all, zombies] = stdout.trim().split('\n').map(Number);
		return all < 12 && zombies === 0;
	});
});

test('both spellings, both forms of a path, and the background flag', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const late = await post(sandbox, 'execute/', {
			command: 'echo $A; sleep 30', timeout_ms: 200,
			env_vars: { A: 'b' } });

		assert.equal(late.json.stdout, 'b\n');
		assert.equal(late.json.exitCode, 124);
		const started = await post(sandbox, 'execute', {
			command: 'echo $A; sleep 600', background: true,
			env: { A: 'bg' } });
		assert.deepEqual(Object.keys(started.json).slice(0, 5),
			['success', 'processId', 'pid', 'command', 'timestamp']);
		const { processId } = started.json;
		assert.ok(started.json.pid > 1);
		const encoded = processId.replace('_', '%5F');
		for (const path of [`process/${processId}/`, `process/${encoded}`]) {
			const { json } = await stack.call('GET', api(sandbox, path));
			assert.equal(json.process.id, processId);
			assert.equal(json.process.status, 'running');
		}
	});

test('a code cell of 1 MiB works', limit, async (t) => {
	const word = 'x'.repeat(1 << 20);

	assert.equal(textOf(await streamed(stack.sandbox(t), 'execute/code',
		{ language: 'python', code: `print(len("${word}"))` })),
	`${word.length}\n`);
});

test('HOME and PATH are those of the user, in every form', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const look = 'echo $HOME $USER $PATH';
		const want = '/home/sandbox sandbox /usr/local/sbin:' +
			'/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n';

		await sandbox.create({ user: 'sandbox' });
		for (const sessionId of ['s', NONE])
			assert.equal((await sandbox.exec(look, { sessionId }))
				.stdout, want);
		const started = await sandbox.startProcess(look);
		await started.waitForExit(10_000);
		assert.equal((await started.getLogs()).stdout, want);
		assert.equal(textOf(await streamed(sandbox, 'execute/code', {
			language: 'python', code: 'import os\nprint(*(' +
				'os.environ[k] for k in ("HOME", "USER", "PATH")))',
		})), want);
	});

test('nothing in front of the service is less patient than a run may be',
	{ ...limit, skip: process.getuid() !== 0 && 'needs root' },
	async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		const conf = readFileSync(`${stack.data}/nginx/api.conf`, 'utf8');
		const told = [...conf.matchAll(/fastcgi_read_timeout (\w+);/g)];

		assert.ok(told.length > 0);
		for (const [, value] of told)
			assert.equal(value, '1d');
	});
