/**
 * The event parser, fed with bytes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseSSEStream, SandboxError } from '../index.js';
import { readFrames } from '../lib/sse.js';

const bytes = (text) => new TextEncoder().encode(text);

function streamOf(chunks, onCancel) {
	const queue = [...chunks];

	return new ReadableStream({
		pull(controller) {
			if (queue.length === 0)
				controller.close();
			else
				controller.enqueue(queue.shift());
		},
		cancel: onCancel,
	});
}

function cutEvery(data, n) {
	const chunks = [];

	for (let at = 0; at < data.length; at += n)
		chunks.push(data.subarray(at, at + n));
	return chunks;
}

async function collect(chunks) {
	const events = [];

	for await (const event of parseSSEStream(streamOf(chunks)))
		events.push(event);
	return events;
}

test('events come out whole wherever the bytes are cut', async () => {
	const wire = bytes(
		': heartbeat\n\n' +
		'id: 1\ndata: {"type":"stdout","data":"a→é😀"}\n\n' +
		'id: 2\r\ndata: {"type":"stdout","data":"x"}\r\n\r\n' +
		'data: {"type":\ndata: "complete"}\n\n');
	const expected = [
		{ type: 'stdout', data: 'a→é😀' },
		{ type: 'stdout', data: 'x' },
		{ type: 'complete' },
	];

	for (let n = 1; n <= wire.length; n++)
		assert.deepEqual(await collect(cutEvery(wire, n)), expected,
			`cut every ${n} bytes`);
});

test('LF, CRLF and CR end a line', async () => {
	for (const end of ['\n', '\r\n', '\r'])
		assert.deepEqual(
			await collect([bytes(
				`data: 1${end}${end}data: 2${end}${end}`)]),
			[1, 2]);
});

test('an empty chunk between CR and LF makes no empty line', async () => {
	const chunks = ['data: [1,\r', '', '\ndata: 2]\r', '\n\r', '\n'];

	assert.deepEqual(await collect(chunks.map(bytes)), [[1, 2]]);
});

test('comments and unknown fields are dropped', async () => {
	assert.deepEqual(
		await collect([bytes(
			':c\n:\nretry: 5\nnonsense\ndata: 1\n\n\n\n:x\n\n')]),
		[1]);
});

test('a space after the colon may be missing', async () => {
	assert.deepEqual(await collect([bytes('data:{"a": 1}\n\n')]),
		[{ a: 1 }]);
});

test('ids and event names belong to their frame', async () => {
	const frames = [];

	for await (const frame of readFrames(streamOf([bytes(
		'id: 7\nevent: x\ndata: a\n\nid: 8\ndata: b\n\n')])))
		frames.push(frame);
	assert.deepEqual(frames, [
		{ id: '7', event: 'x', data: 'a' },
		{ id: '8', event: undefined, data: 'b' },
	]);
});

test('a whole last event without its empty line is given', async () => {
	assert.deepEqual(await collect([bytes('data: 1\n\ndata: {"a":2}')]),
		[1, { a: 2 }]);
});

test('a last event that was cut is dropped', async () => {
	assert.deepEqual(await collect([bytes('data: 1\n\ndata: {"a":')]),
		[1]);
});

test('a frame that is not JSON throws a typed error', async () => {
	await assert.rejects(collect([bytes('data: {oops\n\n')]), (error) => {
		assert.ok(error instanceof SandboxError);
		assert.equal(error.code, 'INVALID_JSON_RESPONSE');
		assert.equal(error.context.data, '{oops');
		return true;
	});
});

test('a line of many megabytes in small chunks is read quickly', async () => {
	const big = 'x'.repeat(16 << 20);
	const wire = bytes(`data: ${JSON.stringify(big)}\n\n`);
	const started = performance.now();
	const [event] = await collect(cutEvery(wire, 4096));

	assert.equal(event.length, big.length);
	assert.ok(performance.now() - started < 5000);
});

test('leaving the loop cancels the stream', async () => {
	let cancelled = false;
	const stream = streamOf([bytes('data: 1\n\n'), bytes('data: 2\n\n')],
		() => { cancelled = true; });

	for await (const event of parseSSEStream(stream)) {
		assert.equal(event, 1);
		break;
	}
	assert.ok(cancelled);
});

test('a signal ends a silent stream with its reason', async () => {
	let cancelled = false;
	const silent = new ReadableStream({
		cancel() { cancelled = true; },
	});
	const stop = new AbortController();
	const reading = parseSSEStream(silent, stop.signal).next();
	const reason = new Error('enough');

	setImmediate(() => stop.abort(reason));
	await assert.rejects(reading, reason);
	assert.ok(cancelled);
});

test('an aborted signal reads nothing', async () => {
	const reason = new Error('before');

	await assert.rejects(
		parseSSEStream(streamOf([bytes('data: 1\n\n')]),
			AbortSignal.abort(reason)).next(),
		reason);
});

test('a stream that breaks throws a typed error', async () => {
	const broken = new ReadableStream({
		pull(controller) { controller.error(new Error('reset')); },
	});

	await assert.rejects(parseSSEStream(broken).next(), (error) => {
		assert.ok(error instanceof SandboxError);
		assert.equal(error.code, 'CONNECTION_FAILED');
		assert.equal(error.cause.message, 'reset');
		return true;
	});
});
