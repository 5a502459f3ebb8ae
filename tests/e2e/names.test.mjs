/**
 * Several URLs of one port, each ended alone; and requests that are held until
 * something listens.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { withApp } from './lib/app.mjs';
import { connect } from './lib/ws.mjs';
import { fetchRaw, guest, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 120_000 };

const teapot = async (url, headers) =>
	(await fetchRaw(new URL('/teapot', url), { headers })).status;

test('each name of a port is a URL of its own, and ends alone', limit,
	async (t) => {
		const { sandbox } = await withApp(stack.sandbox(t));
		const own = await sandbox.exposePort(8100, { name: 'web' });
		const hooks = await sandbox.namePort(8100, 'hooks');
		const team = await sandbox.namePort(8100, 'team',
			{ access: 'private', token: 'team1' });

		assert.equal(new Set([own.url, hooks.url, team.url]).size, 3);
		assert.match(team.url, /-team1\./);
		assert.equal((await sandbox.namePort(8100, 'hooks')).url, hooks.url);
		assert.deepEqual([await teapot(own.url), await teapot(hooks.url),
			await teapot(team.url)], [418, 418, 401]);
		const [port, ...more] = await sandbox.getExposedPorts();
		assert.deepEqual([more.length, port.url, port.name],
			[0, own.url, 'web']);
		assert.deepEqual(port.names.map(({ name, url, access }) =>
			[name, url, access]), [['hooks', hooks.url, 'public'],
			['team', team.url, 'private']]);

		/* Its link opens it; a link to the port's own name is none. */
		const { token } = await sandbox.linkPort(8100, { name: 'team' });
		assert.equal(await teapot(team.url, { 'X-Warren-Token': token }),
			418);
		await assert.rejects(sandbox.linkPort(8100), { httpStatus: 400 });

		const socket = await connect(hooks.url);
		await sandbox.unnamePort(8100, 'hooks');
		assert.equal(await socket.next(), undefined, 'is cut');
		assert.deepEqual([await teapot(own.url), await teapot(hooks.url),
			await teapot(team.url)], [418, 404, 401]);
		await assert.rejects(sandbox.unnamePort(8100, 'hooks'),
			{ code: 'PORT_NOT_EXPOSED' });
		await sandbox.unexposePort(8100);
		assert.deepEqual([await teapot(own.url), await teapot(team.url)],
			[404, 404]);
		/* Exposed again, only what is asked for is there. */
		await sandbox.exposePort(8100);
		assert.deepEqual([await teapot(own.url), await teapot(team.url)],
			[404, 404]);
	});

test('names and tokens that cannot be are refused', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.exec('true');
	await assert.rejects(sandbox.namePort(8100, 'x'),
		{ code: 'PORT_NOT_EXPOSED' });
	const { token } = await sandbox.exposePort(8100);
	for (const name of ['', '.x', '-x', 'a b', 'a/b', 'é', 'x'.repeat(33)])
		await assert.rejects(sandbox.namePort(8100, name),
			{ httpStatus: 400 }, name);
	await assert.rejects(sandbox.namePort(8100, 'x', { token }),
		{ code: 'PORT_ALREADY_EXPOSED' });
	await sandbox.namePort(8100, 'x', { token: 'other' });
	await assert.rejects(sandbox.namePort(8100, 'x', { token: 'another' }),
		{ code: 'PORT_ALREADY_EXPOSED' });
	await assert.rejects(sandbox.changePort(8100, { token: 'other' }),
		{ code: 'PORT_ALREADY_EXPOSED' });
	for (let i = 1; i < 16; i++)
		await sandbox.namePort(8100, `n${i}`);
	await assert.rejects(sandbox.namePort(8100, 'n16'),
		{ httpStatus: 429, code: 'LIMIT_EXCEEDED' });
	for (const waitMs of [-1, 30_001, 0.5, '1s'])
		await assert.rejects(sandbox.exposePort(8101, { waitMs }),
			{ httpStatus: 400 }, `${waitMs}`);
});

/** Resolves once nginx has told a worker of the request, and it is held. */
async function held(sandbox, url, options) {
	const answer = fetchRaw(url, options);
	const early = await Promise.race([answer, sandbox.exec('sleep 0.5')]);

	assert.equal(early.status, undefined, 'is not answered yet');
	return { answer };
}

for (const access of ['public', 'private'])
	test(`a request of a ${access} preview is held until something listens`,
		limit, async (t) => {
			const sandbox = stack.sandbox(t);
			const headers = access === 'private'
				? { Authorization: `Bearer ${stack.apiKey}` } : {};

			await sandbox.writeFile('/workspace/app.js',
				await guest('app.js'));
			const { url, waitMs } = await sandbox.exposePort(8100,
				{ access, waitMs: 30_000 });
			assert.equal(waitMs, 30_000);
			const all = await Promise.all(['/teapot', '/echo?x=1'].map(
				(at) => held(sandbox, new URL(at, url), { headers })));
			await sandbox.startProcess('node app.js 8100');
			const [teapot, echo] = await Promise.all(
				all.map(({ answer }) => answer));
			assert.equal(teapot.status, 418);
			assert.equal(JSON.parse(echo.text).url, '/echo?x=1');
		});

test('a request is held no longer than waitMs', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const { url } = await sandbox.exposePort(8200, { waitMs: 300 });
	const start = performance.now();
	const { status } = await fetchRaw(url);

	assert.equal(status, 503);
	assert.ok(performance.now() - start >= 300);
	/* What a program may have had is not sent twice. */
	const posted = await fetchRaw(url, { method: 'POST', body: 'x' });
	assert.equal(posted.status, 503);
});
