/**
 * Watching by the public client: behaviours 59 and 60 of its wire.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseSSEStream } from '@cloudflare/sandbox';

import { limit, upTo, useWire } from './client.mjs';

const wire = useWire();

/** The client, and a directory to be watched in its sandbox. */
async function watchable(t) {
	const client = wire.client(t);

	await client.files.mkdir('/workspace/w', 's', { recursive: true });
	return client;
}

test('59 watch: watching is the first event, then what happens', limit,
	async (t) => {
		const { commands, watch } = await watchable(t);
		const stream = await watch.watch({ path: '/workspace/w' });

		await commands.execute('cd /workspace/w && echo 1 >f && ' +
			'echo 2 >>f && mkdir d && echo 3 >d/g && mv d e && ' +
			'rm f && touch end', 's');
		const events = await upTo(stream, (event) =>
			event.path === '/workspace/w/end');
		const [first] = events;
		assert.equal(first.type, 'watching');
		assert.equal(first.path, '/workspace/w');
		assert.equal(typeof first.watchId, 'string');
		const told = events.slice(1).map((event) => {
			assert.equal(event.type, 'event');
			assert.equal(typeof event.timestamp, 'string');
			return `${event.eventType} ${event.path.slice(13)}${
				event.isDirectory ? '/' : ''}`;
		});
		for (const line of ['create f', 'create d/', 'move_from d/',
			'move_to e/', 'delete f', 'create end'])
			assert.ok(told.includes(line), `${line} of ${told}`);
	});

test('59 watch: a change is told with its path', limit, async (t) => {
	const { commands, watch } = await watchable(t);

	await commands.execute('echo 1 >/workspace/w/f', 's');
	const stream = await watch.watch({ path: 'w', sessionId: 's' });
	await commands.execute('echo 2 >>/workspace/w/f', 's');
	await upTo(stream, (event) => event.eventType === 'modify' &&
		event.path === '/workspace/w/f' && !event.isDirectory);
});

test('59 watch: include and exclude filter', limit, async (t) => {
	const { commands, watch } = await watchable(t);
	const path = '/workspace/w';
	const included = await watch.watch({ path, include: ['*.ts'] });
	const excluded = await watch.watch({ path, exclude: ['*.log'] });

	await commands.execute('cd /workspace/w && touch a.log a.js a.ts z.ts',
		's');
	const paths = async (stream) => (await upTo(stream, (event) =>
		event.path === `${path}/z.ts`)).slice(1)
		.map((event) => event.path.slice(13));
	assert.deepEqual(new Set(await paths(included)),
		new Set(['a.ts', 'z.ts']));
	assert.deepEqual(new Set(await paths(excluded)),
		new Set(['a.js', 'a.ts', 'z.ts']));
	await assert.rejects(watch.watch({ path, include: ['*.{ts,js}'] }),
		{ httpStatus: 400 });
	await assert.rejects(watch.watch({ path, include: ['a'],
		exclude: ['b'] }), { httpStatus: 400 });
});

test('59 watch: it ends when the client closes', limit, async (t) => {
	const { commands, watch } = await watchable(t);
	const stream = await watch.watch({ path: '/workspace/w' });

	for await (const event of parseSSEStream(stream)) {
		assert.equal(event.type, 'watching');
		break;
	}
	assert.equal((await commands.execute('echo ok', 's')).stdout, 'ok\n');
});

test('59 watch: a missing path and one outside are errors', limit,
	async (t) => {
		const { watch } = await watchable(t);

		await assert.rejects(watch.watch({ path: '/workspace/none' }),
			(error) => {
				assert.equal(error.code, 'FILE_NOT_FOUND');
				assert.match(error.message,
					/error|not found|does not exist|permission denied/i);
				return true;
			});
		await assert.rejects(watch.watch({ path: '/etc' }),
			{ httpStatus: 403, code: 'PERMISSION_DENIED' });
	});

test('60 watch: checkChanges has a version that rises', limit,
	async (t) => {
		const { commands, watch } = await watchable(t);
		const check = (since) => watch.checkChanges(
			{ path: '/workspace/w', since });
		const cursor = ({ version }) => Number(version.split(':')[1]);
		const first = await check();

		assert.equal(first.success, true);
		assert.equal(first.status, 'unchanged');
		assert.match(first.version, /^watch-\d+-\d+:0$/);
		await commands.execute('echo 1 >/workspace/w/f', 's');
		const second = await check(first.version);
		assert.equal(second.status, 'changed');
		assert.ok(cursor(second) > cursor(first));
		const third = await check(second.version);
		assert.equal(third.status, 'unchanged');
		assert.equal(third.version, second.version);
	});
