/**
 * The client's files: bytes, progress, streams, aborts.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';

import { useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };
const MIB = 1 << 20;

test('progress tells bytes and total, up and down', limit, async (t) => {
	const { files } = stack.sandbox(t);
	const bytes = randomBytes(4 * MIB);
	const sent = [], got = [];
	const put = await files.put('a', bytes,
		{ onProgress: (p) => sent.push(p) });

	assert.equal(put.size, bytes.length);
	assert.equal(put.created, true);
	assert.deepEqual(sent.at(-1), { bytes: bytes.length,
		total: bytes.length });
	assert.ok(sent.length > 4);
	const file = await files.get('a', { onProgress: (p) => got.push(p) });
	assert.equal(file.size, bytes.length);
	assert.equal(file.etag, put.etag);
	assert.deepEqual(Buffer.from(await file.bytes()), bytes);
	assert.deepEqual(got.at(-1), { bytes: bytes.length,
		total: bytes.length });
	for (const [i, { bytes: now }] of got.entries())
		assert.ok(i === 0 || now > got[i - 1].bytes);
});

test('text, bytes, Blobs, streams and iterators are uploaded', limit,
	async (t) => {
		const { files } = stack.sandbox(t);
		const text = 'Grüße';
		async function* pieces() {
			yield Buffer.from(text.slice(0, 2));
			yield Buffer.from(text.slice(2));
		}

		for (const content of [text, new TextEncoder().encode(text),
			new TextEncoder().encode(text).buffer, new Blob([text]),
			new Blob([text]).stream(), pieces()]) {
			await files.put('/tmp/x', content);
			assert.equal(await (await files.get('/tmp/x')).text(), text);
		}
		await files.put('/tmp/x', new Blob([text]),
			{ onProgress: ({ total }) => assert.equal(total, 7) });
		assert.equal(await (await files.get('/tmp/x')).text(), text);
	});

test('ranges, conditions, modes, and names of any bytes', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const { files } = sandbox;
		const name = new Uint8Array([0xff, 0x2f, 0x25, 0x3f]);

		const { etag } = await files.put(name, '0123456789',
			{ mode: '0755' });
		const part = await files.get(name, { start: 2, end: 4 });
		assert.equal(await part.text(), '234');
		assert.deepEqual([part.offset, part.totalSize], [2, 10]);
		await assert.rejects(files.put(name, 'x', { ifNoneMatch: '*' }),
			{ code: 'PRECONDITION_FAILED', httpStatus: 412 });
		await files.put(name, 'ab', { ifMatch: etag, offset: 8 });
		await files.put(name, 'cd', { append: true });
		assert.equal(await (await files.get(name)).text(), '01234567abcd');
		await sandbox.mkdir('d');
		await files.put('d/../e', 'dots');
		assert.equal(await (await files.get('./e')).text(), 'dots');
		await files.chmod('e', 0o600);
		assert.equal((await files.stat('e')).mode, 'rw-------');
		await files.copy('e', 'f');
		await files.delete('e');
		await assert.rejects(files.get('e'), { code: 'FILE_NOT_FOUND' });
		await files.delete('d', { recursive: true });
	});

test('an aborted upload changes nothing, an aborted download ends', limit,
	async (t) => {
		const { files } = stack.sandbox(t);
		const stop = new AbortController();
		async function* endless() {
			for (;;)
				yield Buffer.alloc(MIB);
		}

		await files.put('a', 'old');
		await assert.rejects(files.put('a', endless(), {
			signal: stop.signal,
			onProgress: ({ bytes }) => bytes > 3 * MIB && stop.abort(),
		}), { name: 'AbortError' });
		assert.equal(await (await files.get('a')).text(), 'old');
		await files.put('big', Buffer.alloc(64 * MIB));
		const end = new AbortController();
		const big = await files.get('big', { signal: end.signal });
		await assert.rejects(async () => {
			for await (const piece of big)
				assert.ok(piece.length > 0 && end.abort() === undefined);
		}, { name: 'AbortError' });
	});

test('archives, pages and links by the client', limit, async (t) => {
	const { files } = stack.sandbox(t);
	const { success } = await files.writeMany(Array.from({ length: 25 },
		(_, i) => ({ path: `d/${i}`, content: `${i}` })));

	assert.equal(success, true);
	const names = [];
	for await (const { name } of files.list('d', { pageSize: 7 }))
		names.push(name);
	assert.equal(new Set(names).size, 25);
	const packed = await (await files.pack('d', { format: 'zip' })).bytes();
	const done = await files.unpack('e', packed);
	assert.equal(done.entries, 25);
	const piped = await files.unpack('f',
		(await files.pack('d', { format: 'tar.zst' })).stream());
	assert.equal(piped.entries, 25);
	const { url, id } = await files.link('e/7', { ttl: '5m' });
	const read = await fetch(url.replace('localhost', '127.0.0.1'));
	assert.equal(await read.text(), '7');
	assert.equal((await files.links()).length, 1);
	await files.revokeLink(id);
	assert.equal((await files.links()).length, 0);
});
