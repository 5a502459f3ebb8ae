/**
 * What an exposed port was asked for is counted, and told by the API.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { withApp } from './lib/app.mjs';
import { connect } from './lib/ws.mjs';
import { fetchRaw, until, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 120_000 };

const countsOf = async (sandbox, number = 8100) =>
	(await sandbox.getExposedPorts()).find(({ port }) => port === number);

/** Nginx tells of them about once a second. */
const counted = (sandbox, requests) => until(20_000,
	`${requests} requests are counted`, async () => {
		const counts = await countsOf(sandbox);

		assert.ok(counts.requests <= requests, JSON.stringify(counts));
		return counts.requests === requests && counts;
	});

test('requests and bytes are counted, by whatever name they came', limit,
	async (t) => {
		const { sandbox } = await withApp(stack.sandbox(t));
		const { url } = await sandbox.exposePort(8100);
		const more = await sandbox.namePort(8100, 'more',
			{ access: 'private' });
		const headers = { Authorization: `Bearer ${stack.apiKey}` };
		const before = Date.now();
		const fresh = await countsOf(sandbox);

		assert.deepEqual([fresh.requests, fresh.bytesIn, fresh.bytesOut,
			fresh.upstreamErrors, fresh.lastHitAt], [0, 0, 0, 0,
			undefined]);
		await Promise.all(Array.from({ length: 20 }, (_, i) =>
			fetchRaw(new URL(i % 2 ? '/teapot' : '/none', url))));
		await fetchRaw(new URL('/big', more.url), { headers });
		await fetchRaw(new URL('/echo', url), { method: 'PUT',
			body: 'x'.repeat(1_000_000) });
		const counts = await counted(sandbox, 22);
		assert.ok(counts.bytesOut > (8 << 20) + 1_000_000 &&
			counts.bytesOut < (8 << 20) + 1_100_000,
		JSON.stringify(counts));
		assert.ok(counts.bytesIn > 1_000_000 &&
			counts.bytesIn < 1_020_000, JSON.stringify(counts));
		assert.equal(counts.upstreamErrors, 0);
		const last = Date.parse(counts.lastHitAt);
		assert.ok(last >= before - 1000 && last <= Date.now() + 1000);
		if (!stack.noOperator) {
			const rows = await stack.warren('sql',
				'SELECT requests FROM ports WHERE alias = \'\' AND ' +
				`sandbox = '${sandbox.name}'`);
			assert.match(rows, /^22$/m);
		}
		/* Another that is exposed there begins with nothing. */
		await sandbox.unexposePort(8100);
		await sandbox.exposePort(8100);
		assert.equal((await countsOf(sandbox)).requests, 0);
	});

test('a WebSocket counts with what went through it, once it ends', limit,
	async (t) => {
		const { sandbox } = await withApp(stack.sandbox(t));
		const { url } = await sandbox.exposePort(8100);
		const socket = await connect(url);

		for (let i = 0; i < 100; i++) {
			socket.send('x'.repeat(100));
			await socket.next();
		}
		socket.close();
		const counts = await counted(sandbox, 1);
		assert.ok(counts.bytesIn > 10_000 && counts.bytesIn < 14_000,
			JSON.stringify(counts));
		assert.ok(counts.bytesOut > 10_000 && counts.bytesOut < 14_000,
			JSON.stringify(counts));
	});

test('what nothing answers to is an error; a wrong name is nobody\'s', limit,
	async (t) => {
		const { sandbox, app } = await withApp(stack.sandbox(t));
		const { url, token } = await sandbox.exposePort(8100);
		const silent = await sandbox.exposePort(8101);

		assert.equal((await fetchRaw(silent.url)).status, 503);
		for (const wrong of [url.replace(token, 'a'.repeat(16)),
			url.replace('8100-', '8102-')])
			assert.equal((await fetchRaw(wrong)).status, 404);
		assert.equal((await fetchRaw(url)).status, 404, 'the program\'s');
		await app.kill();
		await until(20_000, '503', async () =>
			(await fetchRaw(url)).status === 503);
		const counts = await until(20_000, 'both are counted', async () => {
			const [a, b] = await sandbox.getExposedPorts();

			return a.requests >= 2 && b.requests === 1 && [a, b];
		});
		assert.ok(counts[0].upstreamErrors >= 1);
		assert.ok(counts[0].upstreamErrors < counts[0].requests);
		assert.equal(counts[1].upstreamErrors, 1);
	});
