/**
 * [preview] of warren.ini: what an operator sets for all previews. On a stack of
 * its own.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { getSandbox } from '../../clients/js/index.js';
import * as server from './lib/server.mjs';
import { connect } from './lib/ws.mjs';
import { fetchRaw, guest, uniqueName } from './stack.mjs';

const canServe = server.canServe();
const limit = { timeout: 120_000, skip: !canServe && 'needs root' };
const RATE = 4_000_000;

let stack;
let pathPort;

before(async () => {
	if (!canServe)
		return;
	const port = await server.freePort();

	do
		pathPort = await server.freePort();
	while (pathPort === port);
	const data = await server.makeDataDir();
	await writeFile(path.join(data, 'warren.ini'), `[preview]
reservedPorts = 8000, 9229
bytesPerSecond = ${RATE}
pathPort = ${pathPort}
`);
	stack = await server.start({ port, data });
}, { timeout: 900_000 });

after(async () => {
	if (stack !== undefined)
		await server.stopAndRemove(stack.data);
}, { timeout: 120_000 });

function newSandbox(t) {
	const sandbox = getSandbox(uniqueName(), stack);

	t.after(() => sandbox.destroy());
	return sandbox;
}

async function withApp(t, settings) {
	const sandbox = newSandbox(t);

	await sandbox.writeFile('/workspace/app.js', await guest('app.js'));
	const app = await sandbox.startProcess('node app.js 8100');
	await app.waitForLog('app listens', 20_000);
	return { sandbox, ...await sandbox.exposePort(8100, settings) };
}

test('ports are reserved as the operator says', limit, async (t) => {
	const sandbox = newSandbox(t);

	for (const port of [8000, 9229])
		await assert.rejects(sandbox.exposePort(port),
			{ code: 'INVALID_PORT' });
	for (const port of [22, 3000, 9228])
		await sandbox.exposePort(port);
});

test('by path a preview is on a port of its own, which has no API', limit,
	async (t) => {
		const { sandbox, url, pathUrl } = await withApp(t);
		const at = new URL(pathUrl);
		const label = new URL(url).hostname.split('.')[0];

		assert.equal(at.host, `localhost:${pathPort}`);
		assert.equal(at.pathname, `/p/${label}/`);
		const seen = JSON.parse((await fetchRaw(
			new URL('echo?a=1', pathUrl))).text);
		assert.equal(seen.url, '/echo?a=1');
		assert.equal(seen.headers.host, 'localhost:8100');
		assert.equal(seen.headers['x-forwarded-prefix'], `/p/${label}`);
		assert.equal((await fetchRaw(new URL('redirect', pathUrl)))
			.headers.location, `/p/${label}/echo?from=redirect`);
		const socket = await connect(new URL('ws', pathUrl));
		socket.send('hello');
		assert.equal(await socket.next(), 'hello');
		socket.close();

		const wrong = [pathUrl.replace(/-[a-z0-9]{16}\/$/, '-wrong/'),
			pathUrl.replace('/p/8100-', '/p/8101-'),
			new URL('/', pathUrl), new URL('/p/x/', pathUrl),
			new URL('/v1/health', pathUrl),
			new URL('/v1/sandboxes', pathUrl)];
		for (const none of wrong) {
			const answer = await fetchRaw(none, { headers: {
				Authorization: `Bearer ${stack.apiKey}` } });

			assert.equal(answer.status, 404, `${none}`);
			assert.equal(JSON.parse(answer.text).message,
				'There is no preview at this address');
		}
		await sandbox.unexposePort(8100);
		assert.equal((await fetchRaw(pathUrl)).status, 404);
	});

test('by path a private preview opens by key or token, and sets no cookie',
	limit, async (t) => {
		const { sandbox, pathUrl } = await withApp(t,
			{ access: 'private' });
		const at = new URL('echo', pathUrl);
		const page = { Accept: 'text/html' };
		const { token } = await sandbox.linkPort(8100);
		const statusOf = async (to, headers) => {
			const answer = await fetchRaw(to, { headers });

			assert.equal(answer.headers['set-cookie'], undefined);
			return answer.status;
		};

		assert.equal(await statusOf(at), 401);
		assert.equal(await statusOf(at, page), 401);
		assert.equal(await statusOf(at,
			{ Authorization: `Bearer ${stack.apiKey}` }), 200);
		assert.equal(await statusOf(at, { 'X-Warren-Token': token }), 200);
		assert.equal(await statusOf(`${at}?warren_token=${token}`, page), 200);
		assert.equal(await statusOf(at, { ...page,
			Cookie: `warren_preview=${token}` }), 401);
	});

test('bytes of a preview pass no faster than is set, and all of them', limit,
	async (t) => {
		const { url } = await withApp(t);
		const timed = async (call) => {
			const start = performance.now();

			await call();
			return performance.now() - start;
		};
		/* A second's worth may come at once; then it is the rate. */
		const least = (bytes) => ((bytes - RATE) / RATE) * 1000 * 0.9;
		const down = await timed(async () => {
			const { bytes } = await fetchRaw(new URL('/big', url));

			assert.equal(bytes.length, 8 << 20);
		});
		assert.ok(down >= least(8 << 20), `${down} ms`);
		const body = 'y'.repeat(4 << 20);
		const both = await timed(async () => {
			const { text } = await fetchRaw(new URL('/echo', url),
				{ method: 'PUT', body });

			assert.equal(JSON.parse(text).body, body);
		});
		assert.ok(both >= least(8 << 20), `${both} ms`);
	});

test('a wrong setting is named, and nothing starts', limit, async (t) => {
	const data = await server.makeDataDir();

	t.after(() => server.stopAndRemove(data));
	await writeFile(path.join(data, 'warren.ini'),
		'[preview]\nreservedPorts = all\n');
	await assert.rejects(server.start({ port: await server.freePort(), data }),
		/line 2: \[preview\] reservedPorts = "all" are no ports/);
});
