/**
 * Output in the database: all of it, in order and once, within its bounds;
 * what was dropped is told, what was deleted is given back. On a stack of its
 * own, whose recorder is killed and whose limits are changed.
 */
import assert from 'node:assert/strict';
import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { startLines, storedLines, writeLines } from '../bench/lines.mjs';
import { neighbour } from '../bench/neighbour.mjs';
import { getSandbox } from '../../clients/js/index.js';
import { readFrames } from '../../clients/js/lib/sse.js';
import { findPrograms } from './lib/hostproc.mjs';
import * as server from './lib/server.mjs';
import { pause, uniqueName, until } from './stack.mjs';

const skip = !server.canServe() && 'needs root and nginx/serve';
const limit = { timeout: 120_000, skip };
const MIB = 1 << 20;
let stack;

before(async () => {
	if (!skip)
		stack = await server.start({
			port: await server.freePort(),
			data: await server.makeDataDir(),
		});
}, { timeout: 15 * 60_000 });

after(async () => {
	if (stack !== undefined)
		await server.stopAndRemove(stack.data);
});

function open(t) {
	const sandbox = getSandbox(uniqueName(),
		{ url: stack.url, apiKey: stack.apiKey });

	t.after(() => sandbox.destroy().catch(() => {}));
	return sandbox;
}

const sql = async (text) => Number(
	(await server.warren(stack.data, '--json', 'sql', text))
		.match(/-?\d+/)?.[0]);

const recorders = () => findPrograms('warren-recorder',
	(words) => words.includes(stack.data));

async function killRecorder() {
	const [pid] = recorders();

	process.kill(pid, 'SIGKILL');
	await until(15_000, 'a new recorder', () => {
		const [now] = recorders();
		return now !== undefined && now !== pid;
	});
}

/** All of what ${started} printed is stored; ${lines} of each. */
async function allStored(sandbox, started, lines) {
	const { id } = await sandbox.getInfo();

	for (const one of started)
		assert.equal((await one.waitForExit(60_000)).exitCode, 0);
	const found = await until(10_000, 'the ends', async () => {
		const now = await storedLines(stack.data, id, lines);
		const ended = now.every(({ wrong }) => !wrong.includes('no end'));
		return now.length === started.length && ended && now;
	});
	assert.deepEqual(found.flatMap(({ wrong }) => wrong), []);
}

test('100,000 lines a second of 10 processes are all stored, in order', limit,
	async (t) => {
		const sandbox = open(t);

		await writeLines(sandbox);
		await allStored(sandbox, await startLines(sandbox, 10, 10_000, 3),
			30_000);
	});

test('kill -9 of the recorder loses and doubles no line', limit, async (t) => {
	const sandbox = open(t);

	await writeLines(sandbox);
	const started = await startLines(sandbox, 4, 10_000, 4);
	for (let i = 0; i < 3; i++) {
		await pause(500);
		await killRecorder();
	}
	await allStored(sandbox, started, 40_000);
});

test('a reader that was told of a line finds it after kill -9 of the recorder',
	limit, async (t) => {
		const sandbox = open(t);
		const counts = await sandbox.startProcess(
			'n=0; while :; do echo $((n++)); sleep 0.002; done');
		let last = 0;

		await sandbox.exec('true');
		for (let i = 0; i < 3; i++) {
			const lines = await until(5000, 'more lines', async () => {
				const { stdout } = await counts.getLogs();
				const all = stdout.trim().split('\n');
				return all.length > last && all;
			});
			await killRecorder();
			const again = (await counts.getLogs()).stdout.trim()
				.split('\n');
			assert.ok(again.length >= lines.length);
			assert.deepEqual(again, again.map((_, n) => String(n)));
			last = lines.length;
		}
	});

/** Reads events until the end; again from the last one after each ${n}. */
async function follow(sandbox, id, n) {
	const seen = [];

	for (;;) {
		let count = 0;
		for await (const { id: number, data } of readFrames(
			await sandbox.streamProcessLogs(id,
				{ after: seen.at(-1)?.number ?? 0 }))) {
			const event = JSON.parse(data);
			if (number === undefined)
				continue;
			seen.push({ number: Number(number), event });
			if (event.type === 'exit')
				return seen;
			if (++count === n)
				break;
		}
	}
}

test('ring and database are one log: no gap and no double, whoever reads when',
	limit, async (t) => {
		const sandbox = open(t);

		await writeLines(sandbox);
		const [process] = await startLines(sandbox, 1, 5000, 3);
		const readers = [Infinity, 20, 100].map((n) =>
			follow(sandbox, process.id, n));
		for (let i = 0; i < 2; i++) {
			await pause(400);
			await killRecorder();
		}
		await process.waitForExit(30_000);
		readers.push(follow(sandbox, process.id, 1000));
		for (const seen of await Promise.all(readers)) {
			assert.deepEqual(seen.map(({ number }) => number),
				seen.map((_, i) => i + 1));
			const text = seen.map(({ event }) =>
				event.type === 'stdout' ? event.data : '').join('');
			assert.equal(text.length, 15_000 * 12);
			assert.match(text, /^p0 00000000\n[^]*p0 00014999\n$/);
		}
	});

test('a recorder that hangs holds programs up for ten seconds, not longer',
	limit, async (t) => {
		const sandbox = open(t);
		const [pid] = recorders();
		const go = await sandbox.startProcess(
			'until test -e /tmp/go; do sleep 0.05; done; ' +
			`head -c ${6 * MIB} /dev/zero | tr '\\0' x; echo end`);

		await sandbox.exec('true');
		process.kill(pid, 'SIGSTOP');
		t.after(() => process.kill(pid, 'SIGCONT'));
		await sandbox.writeFile('/tmp/go', '');
		const { exitCode } = await go.waitForExit(30_000);
		assert.equal(exitCode, 0);
		process.kill(pid, 'SIGCONT');
		/* What was lost is known to the byte, once its end is stored. */
		const logs = await until(10_000, 'the end of the log', async () => {
			const now = await go.getLogs();
			const { droppedBytes } = await sandbox.getProcess(go.id);
			return now.stdout.endsWith('xend\n') &&
				now.droppedBytes === droppedBytes && now;
		});
		assert.ok(logs.droppedBytes > 0);
		assert.equal(logs.stdout.length + logs.droppedBytes, 6 * MIB + 4);
	});

test('what a process printed beyond its bound is dropped, counted and told',
	limit, async (t) => {
		const sandbox = open(t);

		await sandbox.create({ limits: { processLogBytes: 256 << 10 } });
		const loud = await sandbox.startProcess(
			`head -c ${80 * MIB} /dev/zero | tr '\\0' x; echo; echo end`);
		/* More than is read of a sandbox at once: it waits, and goes on. */
		const printed = 80 * MIB + 5;
		await loud.waitForExit(30_000);
		const { id: box } = await sandbox.getInfo();
		await until(10_000, 'the end of the log', () => sql('SELECT ended ' +
			`FROM logs WHERE sandbox_id = '${box}'`));
		const stored = await sql('SELECT sum(length(data)) FROM ' +
			`process_logs WHERE process = '${loud.id}'`);

		assert.ok(stored > 128 << 10 && stored <= 256 << 10, stored);
		/* In the process' row, in lists, in its log, in SQL. */
		const now = await sandbox.getProcess(loud.id);
		assert.equal(now.droppedBytes, printed - stored);
		const [listed] = await sandbox.listProcesses();
		assert.equal(listed.droppedBytes, printed - stored);
		const rows = `FROM processes WHERE id = '${loud.id}'`;
		assert.equal(await sql(`SELECT dropped_bytes ${rows}`),
			printed - stored);
		assert.equal(await sql('SELECT dropped_bytes FROM logs WHERE ' +
			`sandbox_id = '${box}'`), printed - stored);
		assert.ok(await sql('SELECT bytes FROM logs WHERE ' +
			`sandbox_id = '${box}'`) <= 256 << 10);
	});

test('a tenant\'s logs are bounded over all its sandboxes', limit,
	async (t) => {
		const name = uniqueName();
		await server.warren(stack.data, 'tenant', 'add', name);
		await server.warren(stack.data, 'tenant', 'set', name,
			'--limit', 'tenantLogBytes=2M', '--limit', 'logBytes=1536K');
		const apiKey = /wrn_[\w-]+/.exec(await server.warren(stack.data,
			'key', 'add', name))[0];
		const boxes = [0, 1].map(() => getSandbox(uniqueName(),
			{ url: stack.url, apiKey }));

		for (const sandbox of boxes) {
			t.after(() => sandbox.destroy().catch(() => {}));
			const loud = await sandbox.startProcess(
				`head -c ${3 * MIB} /dev/zero | tr '\\0' x; echo end`);
			await loud.waitForExit(30_000);
			await until(10_000, 'the end of the log', async () =>
				(await loud.getLogs()).stdout.endsWith('end\n'));
		}
		const bytes = async (box) => sql('SELECT sum(bytes) FROM logs ' +
			`WHERE sandbox_id = '${(await box.getInfo()).id}'`);
		const sums = [await bytes(boxes[0]), await bytes(boxes[1])];
		assert.ok(sums[1] > MIB && sums[1] <= 1.5 * MIB, sums.join());
		assert.ok(sums[0] > 0 && sums[0] + sums[1] <= 2 * MIB,
			sums.join());
	});

test('a deleted sandbox\'s logs are gone, and the file gets shorter', limit,
	async (t) => {
		const file = path.join(stack.data, 'db/logs.db');
		const size = async () => (await stat(file)).size;
		const sandbox = open(t);
		const flood = await sandbox.startProcess(
			`head -c ${48 * MIB} /dev/zero | tr '\\0' x`);

		await flood.waitForExit(60_000);
		const { id } = await sandbox.getInfo();
		await until(20_000, 'the file to grow', async () =>
			await size() > 40 * MIB);
		await sandbox.destroy();
		assert.equal(await sql('SELECT count(*) FROM logs WHERE ' +
			`sandbox_id = '${id}'`), 0);
		assert.equal(await sql('SELECT count(*) FROM execution_logs ' +
			`WHERE sandbox_id = '${id}'`), 0);
		/* While others work. */
		const other = open(t);
		await until(30_000, 'the file to shrink', async () => {
			await other.exec('echo on');
			return await size() < 16 * MIB;
		});
	});

test('a flood in one sandbox does not double another\'s commit', limit,
	async (t) => {
		const ratios = [];

		/* Another on this machine may take it all for a while. */
		do {
			const { calm, flooded } = await neighbour(stack, {
				sandbox: () => open(t), samples: 60,
			});
			ratios.push(flooded / calm);
			t.diagnostic(`${calm.toFixed(1)} ms, ` +
				`with a flood ${flooded.toFixed(1)} ms`);
		} while (ratios.at(-1) > 2 && ratios.length < 3);
		assert.ok(ratios.at(-1) <= 2, ratios.join());
	});

test('of executions more than the configuration says the oldest go', limit,
	async (t) => {
		const sandbox = open(t);
		const file = path.join(stack.data, 'warren.ini');

		t.after(async () => {
			await writeFile(file, '');
			await killRecorder();
		});
		for (let i = 0; i < 12; i++)
			await sandbox.exec(`echo ${i}`);
		const { id } = await sandbox.getInfo();
		const rows = (what) => sql(`SELECT ${what} FROM executions ` +
			`WHERE sandbox_id = '${id}'`);
		assert.equal(await rows('count(*)'), 12);
		await writeFile(file, '[history]\ncount = 5\n');
		await killRecorder();
		await until(20_000, 'five', async () =>
			await rows('count(*)') === 5);
		assert.equal(await rows('min(substr(command, 6) + 0) AS n'), 7);
		await until(10_000, 'their logs to go', async () => await sql(
			`SELECT count(*) FROM logs WHERE sandbox_id = '${id}'`) === 5);
	});

test('output that is too old by the configuration goes, and is counted',
	limit, async (t) => {
		const sandbox = open(t);
		const file = path.join(stack.data, 'warren.ini');

		t.after(async () => {
			await writeFile(file, '');
			await killRecorder();
		});
		const old = await sandbox.startProcess('echo old; exec sleep 600');
		await old.waitForLog('old', 10_000);
		await pause(2000);
		await writeFile(file, '[history]\nlogs = 2s\n');
		await killRecorder();
		await until(20_000, 'the drop', async () =>
			(await sandbox.getProcess(old.id)).droppedBytes === 4);
		assert.equal((await sandbox.getProcess(old.id)).status, 'running');
		assert.equal(await sql('SELECT count(*) FROM process_logs WHERE ' +
			`process = '${old.id}'`), 0);
	});
