/**
 * Calls that are sent again under the same Idempotency-Key run once, and what
 * workers leave behind when they are killed or told to stop.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { findProcesses } from './lib/hostproc.mjs';
import { open, pause, until, uniqueName, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };

const api = (sandbox, path) => `/v1/sandboxes/${sandbox.name}/api/${path}`;

const keyed = (sandbox, path, body, key) => stack.call('POST',
	api(sandbox, path), body, { headers: { 'Idempotency-Key': key } });

const RUN = 'echo run >> /tmp/runs; echo begun; sleep 0.7; echo end; exit 3';

const runs = async (sandbox) =>
	(await sandbox.exec('wc -l < /tmp/runs')).stdout.trim();

test('a retried command gives the result of the first try', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const body = { command: RUN };

		await sandbox.exec('true');
		const all = await Promise.all([0, 100, 400].map(async (ms) => {
			await pause(ms);
			return keyed(sandbox, 'execute', body, 'k1');
		}));
		all.push(await keyed(sandbox, 'execute', body, 'k1'));
		for (const { status, json } of all) {
			assert.equal(status, 200);
			assert.equal(json.stdout, 'begun\nend\n');
			assert.equal(json.exitCode, 3);
			assert.equal(json.reason, 'exited');
			assert.equal(json.executionId, all[0].json.executionId);
		}
		assert.equal(await runs(sandbox), '1');
		assert.equal((await keyed(sandbox, 'execute', body, 'k2')).status,
			200);
		assert.equal(await runs(sandbox), '2');
	});

test('another request under the same key is refused', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await keyed(sandbox, 'execute', { command: 'echo a' }, 'k');
	for (const [path, body] of [['execute', { command: 'echo b' }],
		['execute/stream', { command: 'echo a' }],
		['process/start', { command: 'echo a' }]]) {
		const { status, json } = await keyed(sandbox, path, body, 'k');
		assert.equal(status, 422);
		assert.equal(json.code, 'IDEMPOTENCY_KEY_REUSED');
	}
	const other = stack.sandbox(t);
	assert.equal((await keyed(other, 'execute', { command: 'echo b' }, 'k'))
		.json.stdout, 'b\n');
	assert.equal((await keyed(sandbox, 'execute', { command: 'true' },
		'a b')).status, 400);
});

test('a refused call may be sent again', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const body = { command: 'pwd', cwd: '/tmp/later' };

	assert.equal((await keyed(sandbox, 'execute', body, 'k')).status, 400);
	await sandbox.exec('mkdir /tmp/later');
	assert.equal((await keyed(sandbox, 'execute', body, 'k')).json.stdout,
		'/tmp/later\n');
});

test('a command whose caller left goes on, and is taken up', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const stop = new AbortController();
		const body = { command: RUN };

		await sandbox.exec('true');
		const left = assert.rejects(open(stack.url +
			api(sandbox, 'execute'), {
			method: 'POST',
			headers: {
				'Authorization': `Bearer ${stack.apiKey}`,
				'Content-Type': 'application/json',
				'Idempotency-Key': 'k',
			},
			body: JSON.stringify(body),
			signal: stop.signal,
		}));
		await until(5000, 'the start', async () =>
			(await sandbox.exists('/tmp/runs')).exists);
		stop.abort();
		await left;
		const { json } = await keyed(sandbox, 'execute', body, 'k');
		assert.equal(json.stdout, 'begun\nend\n');
		assert.equal(json.exitCode, 3);
		assert.equal(await runs(sandbox), '1');
	});

test('a stream is taken up under its key, from where it was', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const ask = (after) => stack.call('POST',
			api(sandbox, 'execute/stream'), { command: RUN },
			{ headers: { 'Idempotency-Key': 'k',
				...(after && { 'Last-Event-ID': after }) } });
		const [first, second] = await Promise.all([ask(), ask()]);
		const ids = (text) => [...text.matchAll(/^id: (\d+)$/gm)]
			.map(([, id]) => Number(id));

		assert.deepEqual(ids(first.text), [1, 2, 3]);
		assert.deepEqual(ids(second.text), [1, 2, 3]);
		assert.deepEqual(ids((await ask('1')).text), [2, 3]);
		assert.equal(await runs(sandbox), '1');
	});

test('processes, sessions and contexts are made once', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	for (const [path, body, idOf] of [
		['process/start', { command: 'sleep 600' },
			(json) => json.processId],
		['session/create', {}, (json) => json.data.id],
		['contexts', { language: 'python' }, (json) => json.contextId],
	]) {
		const all = await Promise.all([1, 2, 3].map(
			() => keyed(sandbox, path, body, `key-${path}`)));
		for (const { status, json } of all) {
			assert.equal(status, 200, JSON.stringify(json));
			assert.equal(idOf(json), idOf(all[0].json));
		}
	}
	assert.equal((await sandbox.listProcesses()).length, 1);
	assert.equal((await sandbox.listSessions()).length, 1 + 1);
	assert.equal((await sandbox.listCodeContexts()).length, 1);
});

test('a sandbox is made once, and not with other settings', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const key = uniqueName();
		const ask = (labels) => stack.call('POST', '/v1/sandboxes',
			{ name: sandbox.name, labels },
			{ headers: { 'Idempotency-Key': key } });
		const [first, again] = [await ask({ a: '1' }), await ask({ a: '1' })];

		assert.equal(first.status, 201);
		assert.equal(again.json.id, first.json.id);
		assert.equal((await ask({ a: '2' })).status, 422);
	});

const workers = () => findProcesses('warren-fcgi',
	(words) => words.includes(stack.data));

const killWorkers = (signal) => {
	for (const pid of workers())
		process.kill(pid, signal);
};

/** Why a test that signals workers cannot run. */
const blind = () => (stack.data === undefined || process.getuid() !== 0) &&
	'needs root and the data directory';

test('a retry after the worker was killed runs nothing twice', limit,
	async (t) => {
		if (blind())
			return t.skip(blind());
		const sandbox = stack.sandbox(t);

		await sandbox.exec('true');
		for (let i = 0; i < 3; i++) {
			const body = { command: `${RUN}; # ${i}` };
			const first = keyed(sandbox, 'execute', body, `k${i}`);
			/* At another moment of its life each time. */
			await pause([0, 30, 300][i]);
			killWorkers('SIGKILL');
			await first;
			const { json } = await until(10_000, 'an answer', async () => {
				const answer = await keyed(sandbox, 'execute', body,
					`k${i}`);
				return answer.status === 200 && answer;
			});
			assert.equal(json.stdout, 'begun\nend\n');
			assert.equal(json.exitCode, 3);
			assert.equal(await runs(sandbox), String(i + 1));
		}
	});

const CODE = `import os, time
open('/tmp/coderuns', 'a').write('run\\n')
print('begun')
time.sleep(0.7)
print('end')
len(open('/tmp/coderuns').readlines())`;

/** What the events of a code run, ${text}, tell. */
function runOf({ status, text }) {
	assert.equal(status, 200, text);
	const events = [...text.matchAll(/^data: (.*)$/gm)]
		.map(([, json]) => JSON.parse(json));
	const all = (type) => events.filter((event) => event.type === type);

	assert.equal(all('execution_complete').length, 1);
	const { reason, state, executionId, truncated } = events.at(-1);
	return { reason, state, executionId, truncated,
		out: all('stdout').map((event) => event.text).join(''),
		results: all('result').map((event) => event.text) };
}

test('code that is sent again runs once, and each gets all of it', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const { id } = await sandbox.createCodeContext();
		const body = { context_id: id, code: CODE };
		const all = await Promise.all([0, 100, 400].map(async (ms) => {
			await pause(ms);
			return keyed(sandbox, 'execute/code', body, 'k1');
		}));

		all.push(await keyed(sandbox, 'execute/code', body, 'k1'));
		const [first, ...again] = all.map(runOf);
		assert.equal(first.reason, 'exited');
		assert.equal(first.state, 'kept');
		assert.equal(first.out, 'begun\nend\n');
		assert.deepEqual(first.results, ['1']);
		for (const one of again)
			assert.deepEqual(one, first);
		const ids = [...all[0].text.matchAll(/^id: (\d+)$/gm)]
			.map(([, n]) => Number(n));
		for (const after of [ids[0], ids.at(-2), ids.at(-1)]) {
			const { text } = await keyed(sandbox,
				`execute/code?after=${after}`, body, 'k1');
			assert.equal([...text.matchAll(/^id: (\d+)$/gm)]
				.filter(([, n]) => Number(n) > after).length,
			ids.filter((n) => n > after).length);
			assert.equal(runOf({ status: 200, text }).reason, 'exited');
			assert.doesNotMatch(text, /truncated/);
		}
		const { json } = await keyed(sandbox, 'execute/code?stream=false',
			body, 'k1');
		assert.deepEqual(json.logs.stdout, ['begun\nend\n']);
		assert.equal(json.results[0].text, '1');
		assert.equal(json.executionId, first.executionId);
		assert.equal((await keyed(sandbox, 'execute/code',
			{ ...body, code: '1' }, 'k1')).status, 422);
		assert.deepEqual(runOf(await keyed(sandbox, 'execute/code', body,
			'k2')).results, ['2']);
	});

test('code whose worker was killed goes on, and is taken up', limit,
	async (t) => {
		if (blind())
			return t.skip(blind());
		const sandbox = stack.sandbox(t);
		const { id } = await sandbox.createCodeContext();
		const body = { context_id: id, code: CODE };
		const first = assert.rejects(
			keyed(sandbox, 'execute/code', body, 'k'));

		await until(5000, 'the start', async () =>
			(await sandbox.exists('/tmp/coderuns')).exists);
		killWorkers('SIGKILL');
		await first;
		const run = runOf(await until(10_000, 'an answer', async () => {
			const answer = await keyed(sandbox, 'execute/code', body, 'k');
			return answer.status === 200 && answer;
		}));
		assert.equal(run.reason, 'exited');
		assert.equal(run.out, 'begun\nend\n');
		assert.deepEqual(run.results, ['1']);
	});

/** Until as many workers as before are there, and none of them. */
const replaced = (before) => until(15_000, 'new workers', () => {
	const now = workers();

	return now.length >= before.length &&
		!now.some((pid) => before.includes(pid));
});

test('workers that are told to stop finish what they began', limit,
	async (t) => {
		if (blind())
			return t.skip(blind());
		const sandbox = stack.sandbox(t);
		const before = workers();

		await sandbox.exec('true');
		const running = Array.from({ length: 12 }, (_, i) =>
			stack.call('POST', api(sandbox, i % 2 === 0
				? 'execute'
				: 'execute/stream'), {
				command: `touch /tmp/b${i}; sleep 1.5; echo end ${i}`,
				sessionId: '__DISABLE_SESSION__',
			}));
		await until(5000, 'their start', async () => (await sandbox.exec(
			'ls /tmp/b* | wc -l')).stdout === '12\n');
		killWorkers('SIGTERM');
		/* New ones take what comes meanwhile, and nothing is refused. */
		for (let i = 0; i < 20; i++)
			assert.equal((await sandbox.exec(`echo ${i}`)).stdout,
				`${i}\n`);
		(await Promise.all(running)).forEach((answer, i) => {
			assert.equal(answer.status, 200, answer.text);
			assert.ok(answer.text.includes(`end ${i}\\n`), answer.text);
			if (i % 2 === 1)
				assert.match(answer.text, /"type":"complete"/);
		});
		await replaced(before);
	});

test('a stream whose worker was killed has no invented end', limit,
	async (t) => {
		if (blind())
			return t.skip(blind());
		const sandbox = stack.sandbox(t);
		const before = workers();
		const events = [];
		let last = 0;
		const take = (frame) => {
			last = Number(/^id: (\d+)$/m.exec(frame)?.[1] ?? last);
			if (frame.includes('data: '))
				events.push(JSON.parse(
					/^data: (.*)$/m.exec(frame)[1]));
		};
		const read = async (response) => {
			let text = '';
			let broke = false;
			try {
				for await (const chunk of response) {
					const frames = (text + chunk).split('\n\n');
					text = frames.pop();
					frames.forEach(take);
				}
			} catch {
				broke = true;
			}
			return broke;
		};
		const ask = (method, path, body) => open(
			stack.url + api(sandbox, path), {
				method,
				headers: {
					'Authorization': `Bearer ${stack.apiKey}`,
					'Content-Type': 'application/json',
				},
				body,
			});

		await sandbox.exec('true');
		const reading = ask('POST', 'execute/stream', JSON.stringify({
			command: 'for i in 1 2 3 4 5 6 7 8 9; do echo $i; ' +
				'until test -e /tmp/go -o $i != 4; ' +
				'do sleep 0.02; done; done; exit 7' })).then(read);
		await until(10_000, 'a 4', () =>
			events.some(({ data }) => data?.includes('4')));
		killWorkers('SIGKILL');
		/* It is no body that came to its end. */
		assert.equal(await reading, true);
		await until(10_000, 'an answer', async () =>
			(await keyed(sandbox, 'write',
				{ path: '/tmp/go', content: '' }, 'go')).status === 200);
		assert.equal(events[0].type, 'start');
		assert.ok(!events.some(({ type }) =>
			type === 'complete' || type === 'error'),
		JSON.stringify(events.at(-1)));
		const { executionId } = events[0];
		const more = await until(10_000, 'an answer', async () => {
			const response = await ask('GET',
				`executions/${executionId}/events?after=${last}`);
			if (response.statusCode === 200)
				return response;
			response.resume();
			return undefined;
		});
		assert.equal(await read(more), false);
		assert.equal(events.filter(({ type }) => type === 'stdout')
			.map(({ data }) => data).join(''),
		'1\n2\n3\n4\n5\n6\n7\n8\n9\n');
		assert.equal(events.filter(({ type }) => type === 'complete')
			.length, 1);
		assert.equal(events.at(-1).exitCode, 7);
		await replaced(before);
	});
