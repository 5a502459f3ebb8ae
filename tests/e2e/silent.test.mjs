/**
 * What says nothing for long is served all the same: longer than the pauses
 * after which careless servers give up, and all at the same time, as each
 * takes 24 s.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { connect } from './lib/ws.mjs';
import { fetchRaw, guest, open, pause, useStack } from './stack.mjs';

const stack = useStack();
const SILENT_S = 24; /* heartbeats come every 15 s */
const COMMAND = `sleep ${SILENT_S}; echo done`;
const NONE = '__DISABLE_SESSION__';

/** The events of a stream's text; between them was at least a heartbeat. */
function eventsOf({ status, text }) {
	assert.equal(status, 200);
	assert.match(text, /^: /m);
	return text.split('\n').filter((line) => line.startsWith('data: '))
		.map((line) => JSON.parse(line.slice(6)));
}

const dataOf = (events) => events
	.filter(({ type }) => type === 'stdout')
	.map(({ data, text }) => data ?? text).join('');

test('what is silent for long is served on',
	{ timeout: 120_000, concurrency: true }, async (t) => {
		const sandbox = stack.sandbox(t);
		const path = (rest) => `/v1/sandboxes/${sandbox.name}/api/${rest}`;

		await sandbox.exec('true');
		const parts = [
			t.test('a call without a deadline', async () => {
				const { exitCode, reason, stdout } =
					await sandbox.exec(COMMAND);
				assert.deepEqual({ exitCode, reason, stdout },
					{ exitCode: 0, reason: 'exited', stdout: 'done\n' });
			}),
			t.test('the stream of a call', async () => {
				const events = eventsOf(await stack.call('POST',
					path('execute/stream'),
					{ command: COMMAND, sessionId: NONE }));
				assert.equal(dataOf(events), 'done\n');
				assert.equal(events.at(-1).type, 'complete');
				assert.equal(events.at(-1).reason, 'exited');
			}),
			t.test('a process without a deadline, and its stream', async () => {
				const { id } = await sandbox.startProcess(COMMAND);
				const events = eventsOf(await stack.call('GET',
					path(`process/${id}/stream`)));
				assert.equal(dataOf(events), 'done\n');
				assert.equal(events.at(-1).type, 'exit');
				assert.equal(events.at(-1).reason, 'exited');
				assert.equal(events.at(-1).exitCode, 0);
			}),
			t.test('a wait for a process', async () => {
				const started = await sandbox.startProcess(COMMAND);
				const { status, json } = await stack.call('POST',
					path(`process/${started.id}/wait`),
					{ for: 'log', log: { text: 'done' } });
				assert.equal(status, 200);
				assert.equal(json.line, 'done');
			}),
			t.test('a WebSocket and events of a preview', async () => {
				await sandbox.writeFile('/workspace/app.js',
					await guest('app.js'));
				const app = await sandbox.startProcess('node app.js 8100');
				await app.waitForLog('app listens', 20_000);
				const { url } = await sandbox.exposePort(8100);
				const socket = await connect(url);
				const events = (await open(new URL('/events', url)))[
					Symbol.asyncIterator]();
				assert.match(`${(await events.next()).value}`, /first/);
				await pause(SILENT_S * 1000);
				socket.send('still');
				assert.equal(await socket.next(), 'still');
				socket.close();
				await fetchRaw(new URL('/release', url));
				assert.match(`${(await events.next()).value}`, /second/);
			}),
			t.test('code that computes', async () => {
				const events = eventsOf(await stack.call('POST',
					path('execute/code'), {
						language: 'python',
						code: `import time; time.sleep(${SILENT_S})\n` +
							'print("done")',
					}));
				assert.equal(dataOf(events), 'done\n');
				assert.equal(events.at(-1).type, 'execution_complete');
				assert.equal(events.at(-1).reason, 'exited');
			}),
		];
		await Promise.all(parts);
	});
