/**
 * Previews that are not for everybody: private ones, ones that expire, ones
 * whose program gets their own name.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { connect } from './lib/ws.mjs';
import { fetchRaw, guest, until, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };
const page = { Accept: 'text/html,*/*' };

/** The test application behind a preview with ${settings}. */
async function start(t, settings, port = 8100) {
	const sandbox = stack.sandbox(t);

	await sandbox.writeFile('/workspace/app.js', await guest('app.js'));
	const app = await sandbox.startProcess(`node app.js ${port} 127.0.0.1`);
	await app.waitForLog('app listens', 20_000);
	const base = `/v1/sandboxes/${(await sandbox.getInfo()).name}`;
	const exposed = await stack.call('POST', `${base}/api/ports`,
		{ port, ...settings });
	assert.equal(exposed.status, 200, exposed.text);
	const at = (path) => new URL(path, exposed.json.url);
	const link = async (body) => {
		const made = await stack.call('POST',
			`${base}/api/ports/${port}/links`, body ?? {});

		assert.equal(made.status, 201, made.text);
		return made.json;
	};
	return { sandbox, base, port, at, link, ...exposed.json };
}

const echo = async (url, headers = {}) => {
	const answer = await fetchRaw(url, { headers });

	return { ...answer, seen: answer.status === 200
		? JSON.parse(answer.text) : undefined };
};

test('a private preview answers 401, never a redirect, without a proof', limit,
	async (t) => {
		const { at, access } = await start(t, { access: 'private' });
		const program = await fetchRaw(at('/echo'));

		assert.equal(access, 'private');
		assert.equal(program.status, 401);
		assert.equal(JSON.parse(program.text).code, 'UNAUTHORIZED');
		assert.equal(program.headers['www-authenticate'], 'Bearer');
		const browser = await fetchRaw(at('/echo'), { headers: page });
		assert.equal(browser.status, 401);
		assert.match(browser.headers['content-type'], /text\/html/);
		for (const headers of [
			{ Authorization: 'Bearer wrn_aaaaaaaa_' + 'a'.repeat(43) },
			{ Authorization: 'Bearer x' },
			{ 'X-Warren-Token': 'a'.repeat(48) },
			{ 'X-Warren-Token': '' },
			{ Cookie: `warren_preview=${'a'.repeat(48)}` },
			{ Cookie: 'warren_preview=; warren_preview' }])
			assert.equal((await fetchRaw(at('/echo'), { headers })).status,
				401, JSON.stringify(headers));
		assert.equal((await fetchRaw(at(`/echo?warren_token=${
			'a'.repeat(48)}`))).status, 401);
		await assert.rejects(connect(at('/ws')), { status: 401 });
	});

test('an API key of the tenant opens it, and stays with us', limit,
	async (t) => {
		const { at } = await start(t, { access: 'private' });
		const { seen } = await echo(at('/echo?a=1'), {
			Authorization: `Bearer ${stack.apiKey}`,
			Cookie: 'own=1; warren_preview=x; two=2' });

		assert.equal(seen.url, '/echo?a=1');
		assert.equal(seen.headers.authorization, undefined);
		assert.equal(seen.headers.cookie, 'own=1; two=2');
		if (stack.noOperator)
			return;
		const foreign = await stack.newTenant();
		assert.equal((await fetchRaw(at('/echo'), { headers: {
			Authorization: `Bearer ${foreign}` } })).status, 401);
	});

test('a link opens it in every form, and names its user', limit, async (t) => {
	const { at, link } = await start(t, { access: 'private' });
	const { token, url } = await link({ user: 'ann@example.org' });
	const forged = { 'X-Warren-User': 'root' };

	assert.ok(url.startsWith(at('/').href));
	const { seen } = await echo(at('/echo'),
		{ 'X-Warren-Token': token, ...forged });
	assert.equal(seen.headers['x-warren-user'], 'ann@example.org');
	assert.equal(seen.headers['x-warren-token'], undefined);
	assert.equal((await echo(`${at('/echo')}?warren_token=${token}`)).status,
		200);
	const entered = await fetchRaw(at('/'), { headers: page,
		path: `//other.example/a?x=1&warren_token=${token}&y=2` });
	assert.equal(entered.status, 303);
	assert.equal(entered.headers.location,
		`${at('/').origin}//other.example/a?x=1&y=2`);
	const cookie = entered.headers['set-cookie'][0];
	assert.match(cookie, /HttpOnly; SameSite=Lax/);
	assert.ok(!cookie.includes('Domain'));
	const session = { Cookie: cookie.split(';')[0], ...forged };
	const again = await echo(at('/echo'), session);
	assert.equal(again.seen.headers['x-warren-user'], 'ann@example.org');
	assert.equal(again.seen.headers.cookie, undefined);
	const socket = await connect(at('/ws'), session);
	socket.send('hello');
	assert.match(await socket.next(), /hello/);
	socket.close();
});

test('a link that opens once opens once', limit, async (t) => {
	const { at, link } = await start(t, { access: 'private' });
	const { token } = await link({ once: true });
	const url = at(`/echo?warren_token=${token}`);

	assert.equal((await fetchRaw(url)).status, 401);
	const first = await fetchRaw(url, { headers: page });
	assert.equal(first.status, 303);
	assert.equal((await fetchRaw(url, { headers: page })).status, 401);
	const cookie = first.headers['set-cookie'][0].split(';')[0];
	assert.ok(!cookie.includes(token));
	assert.equal((await echo(at('/echo'), { Cookie: cookie })).status, 200);
});

test('revoked, expired, and of another port: 401', limit, async (t) => {
	const { sandbox, base, at, link } = await start(t,
		{ access: 'private' });
	const { token, id } = await link({});
	const short = await link({ ttl: '1s' });

	await sandbox.startProcess('node app.js 8101 127.0.0.1')
		.then((app) => app.waitForLog('app listens', 20_000));
	const other = (await stack.call('POST', `${base}/api/ports`,
		{ port: 8101, access: 'private' })).json;
	const show = (url, shown) => fetchRaw(url,
		{ headers: { 'X-Warren-Token': shown } });
	assert.equal((await show(new URL('/echo', other.url), token)).status,
		401);
	assert.equal((await show(at('/echo'), token)).status, 200);
	await stack.call('DELETE', `${base}/api/links/${id}`);
	assert.equal((await show(at('/echo'), token)).status, 401);
	await until(20_000, 'it expires', () =>
		Date.now() > Date.parse(short.expiresAt));
	assert.equal((await show(at('/echo'), short.token)).status, 401);
	assert.equal((await stack.call('POST', `${base}/api/ports/8100/links`,
		{ user: 'a\nb' })).status, 400);
	assert.equal((await stack.call('POST', `${base}/api/ports/8102/links`,
		{})).status, 404);
});

test('a body and a WebSocket pass a private preview as they are', limit,
	async (t) => {
		const { at } = await start(t, { access: 'private' });
		const body = 'x'.repeat(3_000_000);
		const sent = await fetchRaw(at('/echo'), { method: 'PUT', body,
			headers: { Authorization: `Bearer ${stack.apiKey}` } });

		assert.equal(JSON.parse(sent.text).body, body);
	});

test('access changes at once, and a token can be rotated', limit,
	async (t) => {
		const { base, at, url } = await start(t, {});
		const change = async (body) => (await stack.call('PATCH',
			`${base}/api/ports/8100`, body));

		assert.equal((await fetchRaw(at('/echo'))).status, 200);
		const open = await connect(at('/ws'));
		assert.equal((await change({ access: 'private' })).json.access,
			'private');
		assert.equal(await open.next(), undefined, 'is cut');
		assert.equal((await fetchRaw(at('/echo'))).status, 401);
		assert.equal((await change({ access: 'public' })).json.access,
			'public');
		assert.equal((await fetchRaw(at('/echo'))).status, 200);
		const rotated = (await change({ rotate: true })).json;
		assert.notEqual(rotated.url, url);
		assert.equal((await fetchRaw(at('/echo'))).status, 404);
		assert.equal((await fetchRaw(new URL('/echo', rotated.url))).status,
			200);
		for (const wrong of [{ access: 'secret' }, { token: 'A' },
			{ ttl: '1x' }, { keepHost: 1 }, { x: 1 }])
			assert.equal((await change(wrong)).status, 400,
				JSON.stringify(wrong));
		const { status } = await stack.call('POST', `${base}/api/ports`,
			{ port: 8100, access: 'private' });
		assert.equal(status, 409);
	});

test('a preview that expired is none, and its port is free', limit,
	async (t) => {
		const { base, at, expiresAt } = await start(t, { ttl: '2s' });

		await until(20_000, 'it expires', () =>
			Date.now() > Date.parse(expiresAt));
		assert.equal((await fetchRaw(at('/echo'))).status, 404);
		assert.equal((await stack.call('PATCH', `${base}/api/ports/8100`,
			{})).status, 404);
		const again = await stack.call('POST', `${base}/api/ports`,
			{ port: 8100 });
		assert.equal(again.status, 200);
		assert.equal((await fetchRaw(new URL('/echo', again.json.url)))
			.status, 200);
	});

test('its own Host reaches a program that asks for it, by both protocols',
	limit, async (t) => {
		const { at, url } = await start(t, { keepHost: true });
		const { seen } = await echo(at('/echo'));

		assert.equal(seen.headers.host, new URL(url).host);
		assert.equal(seen.headers['x-forwarded-host'], new URL(url).host);
		const socket = await connect(at('/ws'));
		socket.send('hello');
		assert.match(await socket.next(), /hello/);
		socket.close();
	});

test('what is silent behind a private preview is told to who may see it',
	limit, async (t) => {
		const sandbox = stack.sandbox(t);
		await sandbox.exec('true');
		const base = `/v1/sandboxes/${(await sandbox.getInfo()).name}`;
		const { url } = (await stack.call('POST', `${base}/api/ports`,
			{ port: 8200, access: 'private' })).json;

		assert.equal((await fetchRaw(url)).status, 401);
		const told = await fetchRaw(url, { headers: {
			Authorization: `Bearer ${stack.apiKey}` } });
		assert.equal(told.status, 503);
		assert.equal(JSON.parse(told.text).code, 'PORT_NOT_LISTENING');
	});
