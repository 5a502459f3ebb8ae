/**
 * Files of the public client: behaviours 26 to 31 of its wire.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';

import { collectFile, streamFile } from '@cloudflare/sandbox';

import { all, limit, useWire } from './client.mjs';

const wire = useWire();
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk' +
	'+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const missing = {
	name: 'FileNotFoundError',
	code: 'FILE_NOT_FOUND',
	httpStatus: 404,
	message: /not found|does not exist|no such file/i,
};

test('26 files: what is written is read', limit, async (t) => {
	const { files } = wire.client(t);
	const text = 'zażółć gęślą\n\u{1F600} "quoted" \\ $x\n';
	const wrote = await files.writeFile('/workspace/deep/er/f', text, 's');

	assert.equal(wrote.success, true);
	assert.equal(wrote.path, '/workspace/deep/er/f');
	const read = await files.readFile('/workspace/deep/er/f', 's');
	assert.equal(read.content, text);
	assert.equal(read.encoding, 'utf-8');
	assert.equal(read.isBinary, false);
	assert.equal(read.size, Buffer.byteLength(text));
	assert.equal((await files.readFile('deep/er/f', 's')).content, text);
	await files.writeFile('/workspace/b', Buffer.from(text)
		.toString('base64'), 's', { encoding: 'base64' });
	assert.equal((await files.readFile('/workspace/b', 's',
		{ encoding: 'base64' })).content,
	Buffer.from(text).toString('base64'));
});

test('26 files: what is missing is a FileNotFoundError', limit,
	async (t) => {
		const { commands, files } = wire.client(t);

		await commands.execute('true', 's');
		await assert.rejects(files.readFile('/workspace/none', 's'),
			missing);
		assert.equal((await files.exists('/workspace/none', 's')).exists,
			false);
	});

test('26 files: bad base64 is refused and nothing is written', limit,
	async (t) => {
		const { commands, files } = wire.client(t);

		await commands.execute('true', 's');
		await assert.rejects(files.writeFile('/workspace/f', 'not*base64',
			's', { encoding: 'base64' }), { httpStatus: 400 });
		assert.equal((await files.exists('/workspace/f', 's')).exists,
			false);
	});

test('27 files: a directory is not deleted as a file', limit, async (t) => {
	const { files } = wire.client(t);

	await files.mkdir('/workspace/d', 's');
	await assert.rejects(files.deleteFile('/workspace/d', 's'), (error) => {
		assert.equal(error.name, 'FileSystemError');
		assert.equal(error.code, 'IS_DIRECTORY');
		assert.equal(error.httpStatus, 400);
		assert.match(error.message, /Cannot delete directory/);
		assert.match(error.message, /deleteFile\(\)/);
		assert.equal(error.context.path, '/workspace/d');
		return true;
	});
	assert.equal((await files.exists('/workspace/d', 's')).exists, true);
	await assert.rejects(files.deleteFile('/workspace/none', 's'), missing);
	await files.writeFile('/workspace/f', 'x', 's');
	assert.equal((await files.deleteFile('/workspace/f', 's')).success,
		true);
	assert.equal((await files.exists('/workspace/f', 's')).exists, false);
});

test('28 files: lists, hidden ones only when asked for', limit,
	async (t) => {
		const { files } = wire.client(t);
		const at = (name) => `/workspace/l/${name}`;

		await files.mkdir(at('sub'), 's', { recursive: true });
		await files.mkdir(at('.hidden'), 's');
		await files.writeFile(at('a'), '12345', 's');
		await files.writeFile(at('b'), '', 's');
		const shown = await files.listFiles('/workspace/l', 's');
		assert.equal(shown.count, 3);
		const whole = await files.listFiles('/workspace/l', 's',
			{ includeHidden: true });
		assert.equal(whole.count, 4);
		const a = shown.files.find((file) => file.name === 'a');
		assert.equal(a.absolutePath, at('a'));
		assert.equal(a.relativePath, 'a');
		assert.equal(a.type, 'file');
		assert.equal(a.size, 5);
		assert.match(a.mode, /^([r-][w-][x-]){3}$/);
		assert.equal(a.permissions.readable, true);
		assert.ok(!Number.isNaN(Date.parse(a.modifiedAt)));
		assert.equal(shown.files.find((file) => file.name === 'sub').type,
			'directory');
		await assert.rejects(files.listFiles('/workspace/none', 's'),
			missing);
		await assert.rejects(files.listFiles(at('a'), 's'),
			{ httpStatus: 400, message: /not a directory/i });
	});

test('28 files: a recursive list has what is below', limit, async (t) => {
	const { files } = wire.client(t);

	await files.writeFile('/workspace/r/x/y/f', '1', 's');
	const { files: list } = await files.listFiles('/workspace/r', 's',
		{ recursive: true });
	assert.deepEqual(list.map((file) => file.relativePath).sort(),
		['x', 'x/y', 'x/y/f']);
});

test('29 files: rename and move; a missing source is 404', limit,
	async (t) => {
		const { files } = wire.client(t);

		await files.writeFile('/workspace/one', '1', 's');
		const renamed = await files.renameFile('/workspace/one',
			'/workspace/two', 's');
		assert.equal(renamed.path, '/workspace/one');
		assert.equal(renamed.newPath, '/workspace/two');
		await files.mkdir('/workspace/dir', 's');
		await files.moveFile('/workspace/two', '/workspace/dir/three',
			's');
		assert.equal((await files.readFile('/workspace/dir/three', 's'))
			.content, '1');
		assert.equal((await files.exists('/workspace/two', 's')).exists,
			false);
		for (const name of ['renameFile', 'moveFile'])
			await assert.rejects(files[name]('/workspace/none',
				'/workspace/other', 's'), missing);
	});

test('30 files: a PNG reads back as base64', limit, async (t) => {
	const { files } = wire.client(t);

	await files.writeFile('/workspace/dot.png', PNG, 's',
		{ encoding: 'base64' });
	const read = await files.readFile('/workspace/dot.png', 's');
	assert.equal(read.encoding, 'base64');
	assert.equal(read.isBinary, true);
	assert.equal(read.mimeType, 'image/png');
	assert.equal(read.size, Buffer.from(PNG, 'base64').length);
	assert.equal(read.content, PNG);
});

test('31 files: a stream has metadata, chunks and the size read', limit,
	async (t) => {
		const { commands, files } = wire.client(t);

		await commands.execute('seq 1 40000 > /workspace/n.txt', 's');
		const events = await all(await files.readFileStream(
			'/workspace/n.txt', 's'));
		const size = events[0].size;
		assert.equal(events[0].type, 'metadata');
		assert.equal(events[0].isBinary, false);
		assert.equal(events[0].encoding, 'utf-8');
		assert.equal(events[0].mimeType, 'text/plain');
		assert.ok(events.filter((event) =>
			event.type === 'chunk').length > 1);
		assert.equal(events.at(-1).type, 'complete');
		assert.equal(events.at(-1).bytesRead, size);
		const { content } = await collectFile(await files.readFileStream(
			'/workspace/n.txt', 's'));
		assert.equal(content.length, size);
		assert.ok(content.startsWith('1\n2\n3\n'));
		assert.ok(content.endsWith('\n40000\n'));
	});

test('31 files: the client\'s own reader gives a binary file\'s bytes',
	limit, async (t) => {
		const { commands, files } = wire.client(t);

		await commands.execute('mkdir -p b && cd b && ' +
			'head -c 200000 /dev/urandom > f.png && ' +
			'sha256sum f.png | cut -c 1-64 > sum', 's');
		const chunks = [];
		for await (const chunk of streamFile(await files.readFileStream(
			'/workspace/b/f.png', 's')))
			chunks.push(chunk);
		const bytes = Buffer.concat(chunks);
		assert.equal(bytes.length, 200_000);
		assert.equal(createHash('sha256').update(bytes).digest('hex'),
			(await files.readFile('/workspace/b/sum', 's'))
				.content.trim());
		const left = await files.readFileStream('/workspace/b/f.png', 's');
		await left.cancel();
	});
