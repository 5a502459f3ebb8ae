/**
 * Raw files: bytes as they are, names as they are.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { test } from 'node:test';

import { open, until, useStack } from './stack.mjs';
import { findProcesses, keepersOf, parentOf } from './lib/hostproc.mjs';

const stack = useStack();
const limit = { timeout: 120_000 };
const MIB = 1 << 20;
const sha = (bytes) => createHash('sha256').update(bytes).digest('hex');
/** Bytes of a name as part of a URL. */
const escaped = (name) => [...Buffer.from(name)]
	.map((b) => `%${b.toString(16).padStart(2, '0')}`).join('');
const files = (sandbox, path) => `/v1/sandboxes/${sandbox.name}/files/${path}`;

const raw = (method, sandbox, path, body, headers = {}) =>
	stack.call(method, files(sandbox, path), body, {
		headers: { 'Content-Type': 'application/octet-stream', ...headers },
	});
const put = (...rest) => raw('PUT', ...rest);
const get = (sandbox, path, headers) =>
	raw('GET', sandbox, path, undefined, headers);

test('bytes go in and come out as they are, 201 and then 200', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const bytes = randomBytes(3 * MIB + 17);
		const made = await put(sandbox, 'd/e/r.bin', bytes);

		assert.equal(made.status, 201);
		assert.deepEqual(made.json,
			{ path: 'd/e/r.bin', size: bytes.length });
		const read = await get(sandbox, 'd/e/r.bin');
		assert.equal(read.status, 200);
		assert.equal(sha(read.bytes), sha(bytes));
		assert.equal(read.headers['content-length'],
			String(bytes.length));
		assert.equal(read.headers.etag, made.headers.etag);
		assert.equal((await put(sandbox, 'd/e/r.bin', 'short')).status,
			200);
		assert.equal((await get(sandbox, 'd/e/r.bin')).text, 'short');
		assert.equal((await put(sandbox, 'empty', '')).json.size, 0);
		assert.equal((await get(sandbox, 'empty')).bytes.length, 0);
	});

test('absolute paths with two slashes or %2F, others below the workspace',
	limit, async (t) => {
		const sandbox = stack.sandbox(t);

		await put(sandbox, '/tmp/x', 'one');
		assert.equal((await get(sandbox, '%2Ftmp%2Fx')).text, 'one');
		await put(sandbox, '%2Fworkspace%2Fy', 'two');
		assert.equal((await get(sandbox, 'y')).text, 'two');
		assert.equal((await get(sandbox, '/workspace//y')).text, 'two');
		assert.equal((await get(sandbox, 'y/')).status, 400);
		assert.equal((await get(sandbox, '')).json.code, 'IS_DIRECTORY');
		assert.equal((await get(sandbox, 'none')).json.code,
			'FILE_NOT_FOUND');
	});

test('any legal name makes the round trip, a NUL is refused', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const names = [' ', '"', "'", '\\', '%', '?', '#', '&', '+', '-n',
			'$HOME', '*', 'ü 世 😀', 'a\nb', '\x01\x7f', '...',
			Buffer.from([0xff, 0xfe, 0x80]),
			Buffer.from([0xc3]), 'x'.repeat(255)];

		for (const [i, name] of names.entries()) {
			const made = await put(sandbox, `n/${escaped(name)}`,
				String(i));
			assert.equal(made.status, 201, `name ${i}`);
		}
		for (const [i, name] of names.entries())
			assert.equal((await get(sandbox, `n/${escaped(name)}`)).text,
				String(i));
		const { count, files: rows } = await sandbox.listFiles('n',
			{ includeHidden: true });
		assert.equal(count, names.length);
		const told = rows.map((f) => f.relativePathBase64 ??
			Buffer.from(f.name).toString('base64'));
		assert.deepEqual(told.sort(), names.map((n) =>
			Buffer.from(n).toString('base64')).sort());
		assert.equal((await put(sandbox, 'n/a%00b', '')).status, 400);
		assert.equal((await put(sandbox, 'n/' + 'x'.repeat(256), ''))
			.status, 400);
		for (const name of names)
			assert.equal((await raw('DELETE', sandbox,
				`n/${escaped(name)}`)).status, 204);
	});

test('ranges: one gives 206, none such 416, several the whole', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const range = async (value, more) => {
			const a = await get(sandbox, 'a',
				{ Range: value, ...more });
			return [a.status, a.text, a.headers['content-range']];
		};

		const { headers } = await put(sandbox, 'a', '0123456789');
		assert.deepEqual(await range('bytes=2-4'),
			[206, '234', 'bytes 2-4/10']);
		assert.deepEqual(await range('bytes=7-'),
			[206, '789', 'bytes 7-9/10']);
		assert.deepEqual(await range('bytes=-3'),
			[206, '789', 'bytes 7-9/10']);
		assert.deepEqual(await range('bytes=5-999'),
			[206, '56789', 'bytes 5-9/10']);
		assert.equal((await range('bytes=0-9'))[1], '0123456789');
		assert.equal((await range('bytes=10-'))[0], 416);
		assert.equal((await range('bytes=10-'))[2], 'bytes */10');
		assert.equal((await range('bytes=-0'))[0], 416);
		for (const odd of ['bytes=0-1,4-5', 'lines=1-2', 'bytes=4-2',
			'bytes=x-', 'bytes=1-2x'])
			assert.deepEqual((await range(odd)).slice(0, 2),
				[200, '0123456789']);
		assert.equal((await range('bytes=0-1',
			{ 'If-Range': headers.etag }))[0], 206);
		assert.equal((await range('bytes=0-1',
			{ 'If-Range': headers['last-modified'] }))[0], 206);
		assert.equal((await range('bytes=0-1',
			{ 'If-Range': '"other"' }))[0], 200);
	});

test('HEAD tells what GET would, and sends nothing', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await put(sandbox, 'p.html', '<p>x');
	const head = await raw('HEAD', sandbox, 'p.html');
	const whole = await get(sandbox, 'p.html');
	assert.equal(head.status, 200);
	assert.equal(head.bytes.length, 0);
	for (const name of ['content-length', 'content-type', 'etag',
		'last-modified', 'accept-ranges', 'content-disposition'])
		assert.equal(head.headers[name], whole.headers[name], name);
	assert.equal(head.headers['content-length'], '4');
	assert.match(whole.headers['content-type'], /^text\/html/);
	assert.equal(whole.headers['content-security-policy'], 'sandbox');
	assert.equal((await raw('HEAD', sandbox, 'none')).status, 404);
});

test('conditions of GET: not modified, or another file', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const { headers } = await put(sandbox, 'a', 'x');
		const status = async (name, value) =>
			(await get(sandbox, 'a', { [name]: value })).status;
		const date = headers['last-modified'];
		const old = 'Sat, 01 Jan 2000 00:00:00 GMT';

		assert.equal(await status('If-None-Match', headers.etag), 304);
		assert.equal(await status('If-None-Match',
			`"q", W/${headers.etag}`), 304);
		assert.equal(await status('If-None-Match', '*'), 304);
		assert.equal(await status('If-None-Match', '"q"'), 200);
		assert.equal(await status('If-Match', headers.etag), 200);
		assert.equal(await status('If-Match', `W/${headers.etag}`), 412);
		assert.equal(await status('If-Match', '"q"'), 412);
		assert.equal(await status('If-Modified-Since', date), 304);
		assert.equal(await status('If-Modified-Since', old), 200);
		assert.equal(await status('If-Modified-Since', 'nonsense'), 200);
		assert.equal(await status('If-Unmodified-Since', old), 412);
		await sandbox.exec('sleep 0.01; echo y > a');
		assert.equal(await status('If-None-Match', headers.etag), 200);
	});

test('conditions of PUT and DELETE decide who wins', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const race = await Promise.all(Array.from({ length: 8 }, (_, i) =>
		put(sandbox, 'a', `${i}`, { 'If-None-Match': '*' })));

	assert.deepEqual(race.map((a) => a.status).sort(),
		[201, 412, 412, 412, 412, 412, 412, 412]);
	const { etag } = race.find((a) => a.status === 201).headers;
	const next = await put(sandbox, 'a', 'next', { 'If-Match': etag });
	assert.equal(next.status, 200);
	const late = await put(sandbox, 'a', 'late', { 'If-Match': etag });
	assert.equal(late.status, 412);
	assert.equal(late.json.code, 'PRECONDITION_FAILED');
	assert.equal((await get(sandbox, 'a')).text, 'next');
	assert.equal((await put(sandbox, 'new', 'x', { 'If-Match': '*' }))
		.status, 412);
	assert.equal((await put(sandbox, 'a?append', 'x', { 'If-Match': etag }))
		.status, 412);
	assert.equal((await raw('DELETE', sandbox, 'a', undefined,
		{ 'If-Match': etag })).status, 412);
	assert.equal((await raw('DELETE', sandbox, 'a', undefined,
		{ 'If-Match': next.headers.etag })).status, 204);
	assert.equal((await put(sandbox, 'a', 'x', { 'If-Match': 'bare' }))
		.status, 400);
	assert.equal((await put(sandbox, 'a', 'x',
		{ 'If-Match': '*', 'If-None-Match': '*' })).status, 400);
});

test('append and offset change a part, PUT ends with the new size', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		assert.equal((await put(sandbox, 'a?append', 'one,')).status, 201);
		assert.deepEqual((await put(sandbox, 'a?append=true', 'two'))
			.json, { path: 'a', size: 7 });
		await put(sandbox, 'a?offset=4', 'TW');
		assert.equal((await get(sandbox, 'a')).text, 'one,TWo');
		assert.equal((await put(sandbox, 'a?offset=9', 'x')).json.size, 10);
		assert.equal((await get(sandbox, 'a')).text, 'one,TWo\0\0x');
		await put(sandbox, 'a', 'z');
		assert.equal((await get(sandbox, 'a')).text, 'z');
		for (const query of ['offset=-1', 'offset=x', 'offset=1&append',
			'append&mode=644', 'mode=9', 'mode=77777', 'mode='])
			assert.equal((await put(sandbox, `a?${query}`, 'x'))
				.json.code, 'VALIDATION_FAILED', query);
	});

test('small pieces are added to a large file without sending it again', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const head = randomBytes(10 * MIB);
		const pieces = Array.from({ length: 64 },
			(_, i) => Buffer.alloc(4096, i + 1));
		const inode = async () => (await sandbox.exec('stat -c %i a')).stdout;

		await put(sandbox, 'a', head);
		const before = await inode();
		const sizes = await Promise.all(pieces.map(async (piece) =>
			(await put(sandbox, 'a?append', piece)).json.size));
		assert.equal(Math.max(...sizes), head.length + 64 * 4096);
		assert.equal(await inode(), before);
		const { bytes } = await get(sandbox, 'a');
		assert.equal(sha(bytes.subarray(0, head.length)), sha(head));
		/* Each is there once, whole, in the order of their turns. */
		const added = [];
		for (let at = head.length; at < bytes.length; at += 4096) {
			const piece = bytes.subarray(at, at + 4096);
			assert.ok(piece.equals(pieces[piece[0] - 1]));
			added.push(piece[0]);
		}
		assert.equal(added.length, pieces.length);
		assert.equal(new Set(added).size, pieces.length);
		await put(sandbox, 'a?offset=5', 'patched');
		assert.equal((await get(sandbox, 'a',
			{ Range: 'bytes=5-11' })).text, 'patched');
		assert.equal(await inode(), before);
	});

test('what a query cannot mean is refused by its name, and changes nothing',
	limit, async (t) => {
		const sandbox = stack.sandbox(t);
		const archive = (method, query) => stack.call(method,
			`/v1/sandboxes/${sandbox.name}/archive/d?${query}`,
			method === 'PUT' ? 'x' : undefined);
		const refused = async (answer, field) => {
			const { status, json } = await answer;

			assert.equal(status, 400, field);
			assert.equal(json.code, 'VALIDATION_FAILED');
			assert.equal(json.context.validationErrors[0].field,
				field);
		};

		await put(sandbox, 'd/a', 'old');
		for (const [query, field] of [['apend', 'apend'],
			['append=yes', 'append'], ['append=', 'append'],
			['append&append=0', 'append'], ['%61ppend', '%61ppend'],
			['offset', 'offset'], ['sync=on', 'sync'],
			['mode', 'mode'], ['append&download', 'download'],
			['=1', '']])
			await refused(put(sandbox, `d/a?${query}`, 'new'), field);
		for (const query of ['recursiv', 'recursive=y', 'force'])
			await refused(raw('DELETE', sandbox, `d?${query}`),
				query.split('=')[0]);
		await refused(get(sandbox, 'd/a?downlod'), 'downlod');
		await refused(archive('GET', 'fromat=zip'), 'fromat');
		await refused(archive('GET', 'format'), 'format');
		await refused(archive('PUT', 'link=all'), 'link');
		assert.equal((await get(sandbox, 'd/a?&download=0')).text, 'old');
		await put(sandbox, 'd/a?append=0&', 'whole');
		assert.equal((await get(sandbox, 'd/a')).text, 'whole');
	});

test('".." in a path stays in the sandbox, however it is written', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const root = `/v1/sandboxes/${sandbox.name}`;

		await sandbox.mkdir('d/e', { recursive: true });
		for (const [i, path] of ['d/..%2Fx', 'd%2F..%2Fx',
			'..%2Fworkspace/d/e/%2e%2e%2F..%2Fx'].entries()) {
			assert.equal((await put(sandbox, path, String(i))).status,
				i === 0 ? 201 : 200, path);
			assert.equal((await get(sandbox, 'x')).text, String(i));
		}
		for (const path of ['/v1/sandboxes/..%2f..', `${root}%2f..`,
			`${root}/..%2f..%2f..%2f`]) {
			const { status, json } = await stack.call('GET', path);

			assert.equal(status, 404, path);
			assert.equal(typeof json.requestId, 'string', path);
		}
		assert.equal((await get(sandbox,
			'..%2F..%2F..%2Fetc%2Fhostname')).text,
		(await get(sandbox, '/etc/hostname')).text);
	});

test('owner and mode are as asked, and a replaced file keeps its own', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const mode = async (name) => (await sandbox.exec(
			`stat -c '%a %U' ${name}`)).stdout.trim();

		await put(sandbox, 'a', 'x');
		assert.equal(await mode('a'), '644 root');
		await put(sandbox, 'b?mode=0755', '#!/bin/sh\necho hi');
		assert.equal(await mode('b'), '755 root');
		assert.equal((await sandbox.exec('./b')).stdout, 'hi\n');
		await put(sandbox, 'b', '#!/bin/sh\necho ho');
		assert.equal((await sandbox.exec('./b')).stdout, 'ho\n');
		assert.equal((await put(sandbox, 'c?sync=1', 'kept')).status, 201);
	});

test('only regular files: a pipe, a device, a socket are 4xx at once', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.exec('mkfifo p; python3 -c "import socket; ' +
			'socket.socket(socket.AF_UNIX).bind(\'s\')"');
		for (const path of ['p', 's', '/dev/zero', '/dev/null',
			'/proc/self/fd/0', '/proc/self/mem'])
			for (const answer of [await get(sandbox, path),
				await put(sandbox, path, 'x')])
				assert.ok(answer.status >= 400 &&
					answer.status < 500, path);
		/* What has no size but content is read whole. */
		const proc = await get(sandbox, '/proc/self/status');
		assert.equal(proc.status, 200);
		assert.match(proc.text, /^Name:/);
		assert.equal(proc.headers['content-length'],
			String(proc.bytes.length));
	});

test('a name is told to browsers by RFC 5987', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const told = async (name, query = '') => {
		await put(sandbox, escaped(name), 'x');
		return (await get(sandbox, escaped(name) + query))
			.headers['content-disposition'];
	};

	assert.equal(await told('ü "x".txt', '?download'),
		'attachment; filename="__ _x_.txt"; ' +
		"filename*=UTF-8''%C3%BC%20%22x%22.txt");
	assert.equal(await told('a\r\nSet-Cookie: x'),
		'inline; filename="a__Set-Cookie: x"; ' +
		"filename*=UTF-8''a%0D%0ASet-Cookie%3A%20x");
	assert.equal(await told(Buffer.from([0x61, 0xff])),
		"inline; filename=\"a_\"; filename*=UTF-8''a%EF%BF%BD");
});

test('an upload that breaks off changes nothing', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const url = new URL(stack.url + files(sandbox, 'a'));
	const half = (headers) => new Promise((resolve) => {
		const request = http.request({
			host: '127.0.0.1', port: url.port, path: url.pathname,
			method: 'PUT', agent: false,
			headers: { Host: url.host,
				Authorization: `Bearer ${stack.apiKey}`, ...headers },
		});
		request.on('error', resolve);
		request.write(Buffer.alloc(MIB), () => request.destroy());
		request.on('close', resolve);
	});

	await put(sandbox, 'a', 'old');
	await half({ 'Content-Length': 5 * MIB });
	await half({ 'Transfer-Encoding': 'chunked' });
	const left = async () => (await sandbox.listFiles('/workspace',
		{ includeHidden: true })).count;
	await until(10_000, 'the rest is removed',
		async () => await left() === 1);
	assert.equal((await get(sandbox, 'a')).text, 'old');
});

test('a file that shrinks while it is read breaks the transfer', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.exec('truncate -s 200M big');
		const response = await open(stack.url + files(sandbox, 'big'),
			{ headers: { Authorization: `Bearer ${stack.apiKey}` } });
		assert.equal(response.headers['content-length'],
			String(200 * MIB));
		let bytes = 0;
		await assert.rejects(async () => {
			for await (const chunk of response) {
				if (bytes === 0)
					await sandbox.exec('truncate -s 1M big');
				bytes += chunk.length;
			}
		});
		assert.ok(bytes < 200 * MIB);
		assert.equal((await get(sandbox, 'big')).bytes.length, MIB);
	});

test('recursive deletion takes a directory, and no link\'s target', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.exec('mkdir -p d/e keep; touch d/e/f keep/k; ' +
			'ln -s ../keep d/l; ln -s keep l');
		const refused = await raw('DELETE', sandbox, 'd');
		assert.equal(refused.json.code, 'IS_DIRECTORY');
		assert.equal((await raw('DELETE', sandbox, 'd?recursive')).status,
			204);
		assert.equal((await raw('DELETE', sandbox, 'l?recursive')).status,
			204);
		assert.equal((await sandbox.exec('ls keep')).stdout, 'k\n');
		assert.equal((await raw('DELETE', sandbox, 'd?recursive')).status,
			404);
	});

test('an error is never a file\'s content', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await put(sandbox, 'a', 'x');
	const missing = await get(sandbox, 'b');
	assert.equal(missing.status, 404);
	assert.equal(missing.headers['content-type'], 'application/json');
	const other = await stack.call('GET', files(sandbox, 'a'), undefined,
		{ headers: { Authorization: 'Bearer none' } });
	assert.equal(other.status, 401);
});

/** The most memory that a process ever had, in KiB; 0: it has ended. */
async function peak(pid) {
	const text = await readFile(`/proc/${pid}/status`, 'utf8')
		.catch(() => '');

	return Number(/VmHWM:\s+(\d+)/.exec(text)?.[1] ?? 0);
}

/** All processes that a file goes through: `{name, pid}` of each. */
async function onTheWay(sandbox) {
	const { id } = await sandbox.getInfo();
	const nginx = Number(await readFile(
		`${stack.data}/nginx/nginx.pid`, 'utf8'));
	const groups = {
		worker: findProcesses('warren-fcgi',
			(words) => words.includes(stack.data)),
		keeper: keepersOf(id),
		/* The file executors are forks of init. */
		init: findProcesses('warren-init'),
		nginx: findProcesses('nginx: worker process',
			() => true).filter((pid) => parentOf(pid) === nginx),
	};

	return Object.entries(groups).flatMap(([name, pids]) => {
		assert.ok(pids.length > 0, name);
		return pids.map((pid) => ({ name, pid }));
	});
}

/**
 * What sees, whenever it is called, that no process has grown by more than a
 * few buffers since, and that none that is new has more than these.
 */
async function flatFrom(sandbox) {
	const had = new Map();

	if (stack.data === undefined)
		return () => undefined;
	for (const { pid } of await onTheWay(sandbox))
		had.set(pid, await peak(pid));
	return async (when) => {
		for (const { name, pid } of await onTheWay(sandbox)) {
			const kib = await peak(pid);
			const before = had.get(pid) ?? 0;

			assert.ok(kib - before < 32 << 10,
				`${when}: ${name} went from ${before} to ${kib} KiB`);
		}
	};
}

test('1 GiB goes up and down with flat memory in every process',
	{ timeout: 400_000 }, async (t) => {
		const sandbox = stack.sandbox(t);
		const size = Number(process.env.WARREN_LARGE ?? 1024 * MIB);
		const url = stack.url.replace('localhost', '127.0.0.1');
		const headers = { Authorization: `Bearer ${stack.apiKey}` };
		const hash = createHash('sha256');
		const step = randomBytes(MIB);

		await put(sandbox, 'a', 'x');
		await get(sandbox, 'a');
		const flat = await flatFrom(sandbox);
		async function* content() {
			for (let at = 0; at < size; at += MIB) {
				step.writeUInt32LE(at / MIB);
				hash.update(step);
				yield Buffer.from(step);
				if (at === size - MIB)
					await flat('upload');
			}
		}
		const made = await fetch(url + files(sandbox, 'big'), {
			method: 'PUT', duplex: 'half', body: content(), headers,
		});
		assert.equal(made.status, 201);
		assert.equal((await made.json()).size, size);
		const read = createHash('sha256');
		let got = 0;
		const response = await open(stack.url + files(sandbox, 'big'),
			{ headers });
		for await (const chunk of response) {
			read.update(chunk);
			got += chunk.length;
			if (got >= size - 8 * MIB && got - chunk.length < size - 8 * MIB)
				await flat('download');
		}
		assert.equal(got, size);
		assert.equal(read.digest('hex'), hash.digest('hex'));
		await flat('both');
	});
