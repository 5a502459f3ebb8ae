/**
 * Links to files: for who has no key, until they are over.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { fetchRaw, pause, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };
const api = (sandbox, method, route, body, options) => stack.call(method,
	`/v1/sandboxes/${sandbox.name}/api/links${route}`, body, options);
const link = async (sandbox, body) =>
	(await api(sandbox, 'POST', '', body)).json;
const withoutKey = (url, options) => fetchRaw(url, options);

test('a link reads one file without a key, in ranges too', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.writeFile('a b.txt', '0123456789');
		const made = await api(sandbox, 'POST', '',
			{ path: 'a b.txt', download: true, ttl: '10m' });
		assert.equal(made.status, 201);
		assert.ok(made.json.url.startsWith(`${stack.url}/v1/links/`));
		const read = await withoutKey(made.json.url);
		assert.equal(read.status, 200);
		assert.equal(read.text, '0123456789');
		assert.match(read.headers['content-disposition'], /^attachment/);
		assert.equal(read.headers['referrer-policy'], 'no-referrer');
		const part = await withoutKey(made.json.url,
			{ headers: { Range: 'bytes=2-3' } });
		assert.equal(part.status, 206);
		assert.equal(part.text, '23');
		const left = Date.parse(made.json.expiresAt) - Date.now();
		assert.ok(left > 9 * 60_000 && left <= 10 * 60_000);
		/* It is for reading, and for that file. */
		for (const method of ['PUT', 'DELETE', 'POST'])
			assert.ok([404, 405].includes((await withoutKey(
				made.json.url, { method, body: 'x' })).status));
		assert.equal((await withoutKey(`${made.json.url}/x`)).status, 404);
	});

test('a link to write takes an upload', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.exec('true');
	const { url } = await link(sandbox, { path: 'in/up', method: 'PUT' });
	const put = await withoutKey(url, { method: 'PUT', body: 'content' });
	assert.equal(put.status, 201);
	assert.equal((await sandbox.readFile('in/up')).content, 'content');
	assert.equal((await withoutKey(url)).status, 404);
});

test('a link to write replaces the whole file and takes no options', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.writeFile('a', 'old');
		const { url } = await link(sandbox, { path: 'a', method: 'PUT' });
		for (const query of ['append', 'offset=1', 'mode=4755', 'sync',
			'x']) {
			const put = await withoutKey(`${url}?${query}`,
				{ method: 'PUT', body: 'new' });

			assert.equal(put.status, 400, query);
			assert.match(put.text, /VALIDATION_FAILED/);
		}
		assert.equal((await sandbox.readFile('a')).content, 'old');
		const read = await link(sandbox, { path: 'a' });
		assert.equal((await withoutKey(`${read.url}?x`)).status, 400);
		assert.match((await withoutKey(`${read.url}?download`))
			.headers['content-disposition'], /^attachment/);
	});

test('a link keeps the file that its path meant when it was made', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.exec('mkdir d; echo in >d/a; echo above >a; cd d');
		const made = await link(sandbox, { path: 'a' });
		assert.equal(made.path, '/workspace/d/a');
		await sandbox.exec('cd ..');
		assert.equal((await withoutKey(made.url)).text, 'in\n');
		const { id } = await sandbox.createSession({ id: 's', cwd: '/tmp' });
		assert.equal((await link(sandbox, { path: 'a', sessionId: id }))
			.path, '/tmp/a');
		assert.equal((await link(sandbox, { path: '/a/b' })).path, '/a/b');
	});

test('what is wrong, over or revoked has the same answer', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.writeFile('a', 'x');
		const good = await link(sandbox, { path: 'a' });
		const short = await link(sandbox, { path: 'a', ttl: '1ms' });
		const gone = await link(sandbox, { path: 'a' });
		const { json } = await api(sandbox, 'GET', '');
		assert.deepEqual(json.links.map((l) => l.id).sort(),
			[good.id, gone.id].sort());
		assert.equal(JSON.stringify(json).includes(
			good.url.slice(-32)), false);
		assert.equal((await api(sandbox, 'DELETE', `/${gone.id}`)).status,
			204);
		assert.equal((await api(sandbox, 'DELETE', `/${gone.id}`)).status,
			404);
		await pause(5);
		const told = new Set();
		for (const url of [short.url, gone.url, good.url.slice(0, -1) +
			(good.url.endsWith('A') ? 'B' : 'A'),
			`${stack.url}/v1/links/x`]) {
			const { status, text } = await withoutKey(url);
			const { code, message } = JSON.parse(text);
			told.add(JSON.stringify([status, code, message]));
		}
		assert.equal(told.size, 1);
		assert.match([...told][0], /404,"LINK_NOT_FOUND"/);
		assert.equal((await withoutKey(good.url)).text, 'x');
		await sandbox.destroy();
		assert.equal((await withoutKey(good.url)).status, 404);
	});

test('times and methods are checked', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.exec('true');
	const soon = new Date(Date.now() + 60_000).toISOString();
	assert.equal((await api(sandbox, 'POST', '',
		{ path: 'a', expiresAt: soon })).status, 201);
	for (const body of [{}, { path: 'a', method: 'DEL' },
		{ path: 'a', ttl: '31d' }, { path: 'a', ttl: 'x' },
		{ path: 'a', expiresAt: '2001-01-01T00:00:00Z' },
		{ path: 'a', expiresAt: 'tomorrow' },
		{ path: 'a', expiresAt: soon, ttl: '1h' }])
		assert.equal((await api(sandbox, 'POST', '', body)).status, 400,
			JSON.stringify(body));
});

test('a key gives away no more than it may, and takes its links along',
	limit, async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		const sandbox = stack.sandbox(t);
		await sandbox.writeFile('a', 'x');
		const key = /wrn_[\w-]+/.exec(await stack.warren(
			'key', 'add', 'default', '--scope', 'read'))[0];
		const as = { headers: { Authorization: `Bearer ${key}` } };
		const made = await api(sandbox, 'POST', '', { path: 'a' }, as);
		assert.equal(made.status, 201);
		assert.equal((await api(sandbox, 'POST', '',
			{ path: 'a', method: 'PUT' }, as)).status, 403);
		assert.equal((await withoutKey(made.json.url)).text, 'x');
		await stack.warren('key', 'revoke', key.slice(0, 12));
		assert.equal((await withoutKey(made.json.url)).status, 404);
	});

test('a token is in no log and in no row', limit, async (t) => {
	if (stack.noOperator)
		return t.skip(stack.noOperator);
	const sandbox = stack.sandbox(t);

	await sandbox.writeFile('a', 'x');
	const { url } = await link(sandbox, { path: 'a' });
	assert.equal((await withoutKey(url)).status, 200);
	const log = await readFile(`${stack.data}/nginx/access.log`, 'utf8');
	assert.ok(log.includes('/v1/links/'));
	assert.equal(log.includes(url.slice(-32)), false);
});
