/**
 * Event streams: numbered, taken up again, read by many, ended once.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseSSEStream } from '../../clients/js/index.js';
import { readFrames } from '../../clients/js/lib/sse.js';
import { open, pause, until, useStack, within } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };

const LATE_BYTES = 24 << 20; /* more than all that is between both ends */

const api = (sandbox, path) => `/v1/sandboxes/${sandbox.name}/api/${path}`;

/** `[{id, event}]` of a stream of this path from the beginning or ${from}. */
async function framesOf(sandbox, path, { after, lastEventId } = {}) {
	const query = after === undefined ? '' : `?after=${after}`;
	const { status, text, json } = await stack.call('GET',
		api(sandbox, path) + query, undefined, lastEventId === undefined
			? {}
			: { headers: { 'Last-Event-ID': lastEventId } });

	if (status !== 200)
		return { status, json };
	return text.split('\n\n').filter((frame) => frame.includes('data: '))
		.map((frame) => ({
			id: Number(/^id: (\d+)$/m.exec(frame)?.[1] ?? NaN),
			event: JSON.parse(/^data: (.*)$/m.exec(frame)[1]),
		}));
}

const textOf = (frames) => frames
	.filter(({ event }) => event.type === 'stdout')
	.map(({ event }) => event.data).join('');

async function ended(sandbox, command) {
	const started = await sandbox.startProcess(command);

	await started.waitForExit(30_000);
	return `process/${started.id}/stream`;
}

test('a stream that broke is taken up without loss or double', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const started = await sandbox.startProcess(
			'for i in $(seq 60); do echo $i; sleep 0.02; done; exit 2');
		const seen = [];
		let last = 0;
		let end;

		while (end === undefined) {
			let n = 0;
			for await (const { id, data } of readFrames(
				await sandbox.streamProcessLogs(started.id,
					{ after: last }))) {
				const event = JSON.parse(data);
				if (id !== undefined)
					last = Number(id);
				if (event.type === 'stdout')
					seen.push(event.data);
				if (event.type === 'exit')
					end = event;
				if (++n === 9)
					break;
			}
		}
		assert.equal(seen.join(''), Array.from({ length: 60 },
			(_, i) => `${i + 1}\n`).join(''));
		assert.equal(end.exitCode, 2);
	});

test('after= and Last-Event-ID say the same, the first wins', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const path = await ended(sandbox,
			'for i in 1 2 3 4; do echo $i; sleep 0.05; done');
		const all = await framesOf(sandbox, path);

		assert.deepEqual(all.slice(1).map(({ id }) => id), [1, 2, 3, 4, 5]);
		for (const from of [{ after: 2 }, { lastEventId: '2' },
			{ after: 2, lastEventId: '4' }])
			assert.equal(textOf(await framesOf(sandbox, path, from)),
				'3\n4\n');
		for (const lastEventId of ['x', '-1', '1x', '9'.repeat(30)])
			assert.equal((await framesOf(sandbox, path, { lastEventId }))
				.status, 400);
	});

test('who asks after the end is told the end at once', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const path = await ended(sandbox, 'echo x; exit 6');
	const last = (await framesOf(sandbox, path)).at(-1).id;

	for (const after of [last, last + 1, 1e9]) {
		const value = await framesOf(sandbox, path, { after });
		const ends = value.filter(({ event }) => event.type === 'exit');
		assert.equal(ends.length, 1);
		assert.equal(ends[0].event.exitCode, 6);
		assert.equal(textOf(value), '');
	}
});

test('a cursor at the end of what has just ended gets how it ended', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		for (let round = 0; round < 20; round++) {
			const stream = await sandbox.execStream('echo x; exit 6');
			let executionId;
			let last = 0;

			for await (const { id, data } of readFrames(stream)) {
				executionId ??= JSON.parse(data).executionId;
				last = Number(id ?? last);
			}
			const [{ event }] = await framesOf(sandbox,
				`executions/${executionId}/events`, { after: last });
			assert.equal(event.type, 'complete');
			assert.equal(event.exitCode, 6);
		}
	});

test('a cursor past the end of what runs waits for what comes', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const started = await sandbox.startProcess(
			'echo old; until test -e /tmp/go; do sleep 0.05; done; ' +
			'echo new');

		await started.waitForLog('old', 10_000);
		const rest = framesOf(sandbox, `process/${started.id}/stream`,
			{ after: 1 });
		await pause(300);
		await sandbox.writeFile('/tmp/go', '');
		assert.equal(textOf(await rest), 'new\n');
	});

test('what is unknown is 404', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.exec('true');
	assert.equal((await framesOf(sandbox, 'process/none/stream')).status,
		404);
	assert.equal((await framesOf(sandbox, 'executions/none/events')).status,
		404);
});

test('who comes too late is told what was dropped', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.create({ limits: { logBytes: 4 << 20 } });
	const path = await ended(sandbox,
		'head -c 12000000 /dev/zero | tr "\\0" x; echo; echo last');
	const gap = await until(10_000, 'a gap', async () => {
		const frames = await framesOf(sandbox, path);
		const found = frames.find(({ event }) => event.type === 'gap');
		return found && { frames, found };
	});
	const { event } = gap.found;
	assert.equal(event.from, 1);
	assert.equal(event.dropped, event.to);
	const ids = gap.frames.map(({ id }) => id).filter((id) => id > 0);
	assert.equal(ids[0], event.to);
	assert.equal(ids[1], event.to + 1);
	assert.match(textOf(gap.frames), /x\nlast\n$/);
	assert.equal(gap.frames.at(-1).event.type, 'exit');
});

test('many readers get the same, and one of them can leave', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const stream = await sandbox.execStream(
			'for i in $(seq 200); do echo $i; sleep 0.005; done');
		let id;
		const first = [];
		let others;

		for await (const event of parseSSEStream(stream)) {
			if (event.type === 'start') {
				id = event.executionId;
				others = Array.from({ length: 10 }, () => framesOf(
					sandbox, `executions/${id}/events`));
				open(stack.url + api(sandbox,
					`executions/${id}/events`), {
					headers: {
						Authorization: `Bearer ${stack.apiKey}`,
					},
				}).then((response) => response.socket.resetAndDestroy());
			}
			if (event.type === 'stdout')
				first.push(event.data);
		}
		const want = Array.from({ length: 200 },
			(_, i) => `${i + 1}\n`).join('');
		assert.equal(first.join(''), want);
		for (const frames of await Promise.all(others)) {
			assert.equal(textOf(frames), want);
			assert.equal(frames.filter(({ event }) =>
				event.type === 'complete').length, 1);
		}
	});

test('every split of a four-byte character over reads comes whole', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const bytes = ['\\360', '\\237', '\\230', '\\200'];
		const parts = [];

		for (let split = 1; split < 8; split++) {
			let text = `printf '${bytes[0]}`;
			for (let i = 1; i < 4; i++)
				text += (split & (1 << (i - 1)))
					? `'; sleep 0.05; printf '${bytes[i]}`
					: bytes[i];
			parts.push(`${text}'; sleep 0.05`);
		}
		const command = parts.join('; ');
		const want = '😀'.repeat(parts.length);
		assert.equal((await sandbox.exec(command)).stdout, want);
		const path = await ended(sandbox, command);
		const frames = await framesOf(sandbox, path);
		assert.equal(textOf(frames), want);
		for (const { event } of frames)
			assert.doesNotMatch(JSON.stringify(event), /\uFFFD/);
	});

/** Bytes of output, other events, of a stream that is read at last. */
async function readLate(response, resumes) {
	const others = [];
	let bytes = 0;
	let text = '';

	response.pause();
	await resumes;
	for await (const chunk of response) {
		const frames = (text + chunk).split('\n\n');
		text = frames.pop();
		for (const frame of frames) {
			const data = /^data: (.*)$/m.exec(frame)?.[1];
			const event = data && JSON.parse(data);
			if (event?.type === 'stdout')
				bytes += (event.data ?? event.text).length;
			else if (event)
				others.push(event);
		}
	}
	return { bytes, others };
}

test('a reader that stops for long loses nothing that is stored', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const { id } = await sandbox.createCodeContext();
		const ask = (path, body) => open(stack.url + api(sandbox, path), {
			method: 'POST',
			headers: {
				'Authorization': `Bearer ${stack.apiKey}`,
				'Content-Type': 'application/json',
			},
			body: JSON.stringify(body),
		});
		const both = await Promise.all([
			ask('execute/stream', { command:
				`head -c ${LATE_BYTES} /dev/zero | tr '\\0' x` }),
			ask('execute/code', { context_id: id, code:
				`for _ in range(${LATE_BYTES} >> 16): ` +
				'print("x" * 65535)' }),
		]);
		/* They end although nobody reads: what waited for the reader is
		 * only in the database then. */
		const ends = until(40_000, 'both ends', async () => {
			const { json } = await stack.call('GET',
				api(sandbox, 'executions'));
			return json.executions.every(({ kind, status }) =>
				kind === 'kernel' || status === 'completed');
		});
		for (const { bytes, others } of await Promise.all(both.map(
			(response) => readLate(response, ends)))) {
			assert.equal(bytes, LATE_BYTES);
			assert.ok(!others.some(({ type }) => type === 'gap'));
			assert.equal(others.at(-1).reason, 'exited');
			assert.equal(others.at(-1).truncated, undefined);
		}
	});

test('a reset reader leaves the program alone', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.exec('true');
	const response = await open(stack.url + api(sandbox, 'execute/stream'), {
		method: 'POST',
		headers: {
			'Authorization': `Bearer ${stack.apiKey}`,
			'Content-Type': 'application/json',
		},
		body: JSON.stringify({
			command: 'echo begun; sleep 1; echo > /tmp/done',
		}),
	});
	await within(5000, 'an event', new Promise((resolve) => {
		response.once('data', resolve);
	}));
	response.on('error', () => {});
	response.socket.resetAndDestroy();
	await until(5000, 'the end of the command', async () =>
		(await sandbox.exists('/tmp/done')).exists);
});

test('the first event comes at once, unbuffered', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.exec('true');
	const response = await open(stack.url + api(sandbox, 'execute/stream'), {
		method: 'POST',
		headers: {
			'Authorization': `Bearer ${stack.apiKey}`,
			'Content-Type': 'application/json',
		},
		body: JSON.stringify({ command: 'echo now; sleep 600',
			onDisconnect: 'kill' }),
	});
	await new Promise((resolve) => {
		let text = '';
		response.on('data', (chunk) => {
			text += chunk;
			if (text.includes('now\\n'))
				resolve();
		});
	});

	assert.match(response.headers['content-type'], /^text\/event-stream/);
	response.on('error', () => {});
	response.destroy();
});
