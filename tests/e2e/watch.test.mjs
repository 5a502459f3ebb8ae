/**
 * Watching: what changes in a directory, as it happens or since one looked.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseSSEStream } from '../../clients/js/index.js';
import { initsOf } from './lib/hostproc.mjs';
import { Mirror } from './lib/mirror.mjs';
import { guest, until, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 120_000 };
const TOP = '/workspace/w';

/** A sandbox with the directory TOP in it. */
async function withTop(t) {
	const sandbox = stack.sandbox(t);

	await sandbox.mkdir(TOP, { recursive: true });
	return sandbox;
}

/** The events of a watch, which ends with the test. */
async function watched(t, sandbox, options = {}, path = TOP) {
	const abort = new AbortController();
	const stream = await sandbox.watch(path,
		{ ...options, signal: abort.signal });
	const events = parseSSEStream(stream);

	t.after(() => abort.abort());
	events.close = () => abort.abort();
	return events;
}

async function next(events) {
	const { value, done } = await events.next();

	assert.equal(done, false, 'the stream ended');
	return value;
}

/** Events until ${wanted} accepts one. */
async function upTo(events, wanted) {
	const seen = [];

	for (;;) {
		seen.push(await next(events));
		if (wanted(seen.at(-1)))
			return seen;
	}
}

const named = (path, type) => (event) =>
	event.path === path && (type === undefined || event.eventType === type);

/** How many executors work in the sandbox now. */
async function executors(sandbox) {
	const { id } = await sandbox.getInfo();

	/* children of PID 1, before they become another program or instead */
	return initsOf(id).length - 1;
}

const WAIT_MS = 30_000;

test('watching comes first, then changes with their paths', limit,
	async (t) => {
		const sandbox = await withTop(t);
		const events = await watched(t, sandbox);
		const first = await next(events);

		assert.equal(first.type, 'watching');
		assert.equal(first.path, TOP);
		assert.ok(first.watchId);
		await sandbox.writeFile(`${TOP}/src/new/a.js`, '1');
		const made = (await upTo(events,
			(e) => e.path.endsWith('a.js'))).at(-1);
		assert.equal(made.type, 'event');
		assert.equal(made.isDirectory, false);
		assert.ok(Math.abs(Date.parse(made.timestamp) - Date.now())
			< 60_000);
		await sandbox.exec(`cd ${TOP} && echo 2 >>src/new/a.js`);
		await upTo(events, named(`${TOP}/src/new/a.js`, 'modify'));
		await sandbox.renameFile(`${TOP}/src`, `${TOP}/lib`);
		const from = (await upTo(events,
			named(`${TOP}/src`, 'move_from'))).at(-1);
		const to = (await upTo(events,
			named(`${TOP}/lib`, 'move_to'))).at(-1);
		assert.equal(from.cookie, to.cookie);
		assert.equal(to.isDirectory, true);
		await sandbox.exec(`chmod 700 ${TOP}/lib/new/a.js`);
		await upTo(events, named(`${TOP}/lib/new/a.js`, 'attrib'));
		await sandbox.deleteFile(`${TOP}/lib/new/a.js`);
		await upTo(events, named(`${TOP}/lib/new/a.js`, 'delete'));
	});

test('patterns leave out, by default what tools write', limit, async (t) => {
	const sandbox = await withTop(t);
	const usual = await watched(t, sandbox);
	const scripts = await watched(t, sandbox, { include: ['*.ts'] });
	const all = await watched(t, sandbox, { exclude: [] });
	const made = await watched(t, sandbox,
		{ exclude: ['out/**/*.o'], events: ['create'] });

	await sandbox.exec(`cd ${TOP} && mkdir -p .git node_modules/m out/x &&
		touch .git/a node_modules/m/b.ts out/x/c.o d.ts && rm d.ts &&
		touch end end.ts`);
	const paths = async (events, last) => (await upTo(events, named(
		`${TOP}/${last}`, 'create'))).filter((e) => e.type === 'event')
		.map((e) => e.path.slice(TOP.length + 1));

	const told = await paths(usual, 'end');
	assert.ok(!told.some((p) => /^(\.git|node_modules)/.test(p)), told);
	assert.ok(told.includes('out/x/c.o'));
	assert.deepEqual(new Set(await paths(scripts, 'end.ts')),
		new Set(['node_modules/m/b.ts', 'd.ts', 'end.ts']));
	assert.ok((await paths(all, 'end')).includes('.git/a'));
	const some = await paths(made, 'end');
	assert.ok(!some.includes('out/x/c.o'), some);
	assert.equal(some.filter((p) => p === 'd.ts').length, 1);
});

test('what cannot be watched is refused, saying why', limit, async (t) => {
	const sandbox = await withTop(t);
	const refused = (path, options, expected) =>
		assert.rejects(sandbox.watch(path, options), expected);

	await refused('/workspace/none', {}, {
		code: 'FILE_NOT_FOUND', httpStatus: 404, message: /not found/ });
	for (const path of ['/etc', '/workspace/../etc', '/workspacex', '..'])
		await refused(path, {},
			{ code: 'PERMISSION_DENIED', httpStatus: 403 });
	for (const options of [{ include: ['*.{js,ts}'] }, { exclude: ['[a]'] },
		{ include: ['a'], exclude: ['b'] }, { events: ['rename'] },
		{ include: [''] }])
		await refused(TOP, options,
			{ code: 'VALIDATION_FAILED', httpStatus: 400 });
	await assert.rejects(stack.sandbox(t).watch('/workspace'),
		{ code: 'SANDBOX_NOT_FOUND' });
});

test('names are bytes', limit, async (t) => {
	const sandbox = await withTop(t);
	const events = await watched(t, sandbox);

	await sandbox.exec(`cd ${TOP} && touch $'bad\\xff\\xfe' 'a"\\b' end`);
	const seen = await upTo(events, named(`${TOP}/end`));
	const bad = seen.find((e) => e.pathBase64 !== undefined);

	assert.deepEqual(Buffer.from(bad.pathBase64, 'base64'),
		Buffer.concat([Buffer.from(`${TOP}/bad`),
			Buffer.from([0xff, 0xfe])]));
	assert.ok(seen.some(named(`${TOP}/a"\\b`, 'create')));
});

test('a session has its own directory for relative paths', limit,
	async (t) => {
		const sandbox = await withTop(t);
		const session = await sandbox.createSession({ cwd: TOP });
		const events = await watched(t, session, {}, 'sub/..');

		assert.equal((await next(events)).path, TOP);
	});

test('the executor ends with its client', limit,
	async (t) => {
		const sandbox = await withTop(t);
		const events = await watched(t, sandbox);

		await next(events);
		await until(WAIT_MS, 'others to end',
			async () => await executors(sandbox) === 1);
		events.close();
		await until(WAIT_MS, 'its end',
			async () => await executors(sandbox) === 0);
	});

test('the last event says how it ended', limit, async (t) => {
	const sandbox = await withTop(t);
	const deleted = await watched(t, sandbox);
	const gone = await watched(t, sandbox, {}, '/workspace');
	const rest = async (events) => {
		const all = [];

		for await (const event of events)
			all.push(event);
		return all;
	};
	const ends = (all) => all.filter((e) =>
		e.type === 'stopped' || e.type === 'error');

	await sandbox.exec(`rm -r ${TOP}`);
	const first = await rest(deleted);
	assert.equal(first.at(-1).type, 'stopped');
	assert.equal(first.at(-1).reason, 'deleted');
	assert.equal(ends(first).length, 1);
	await sandbox.destroy();
	const second = await rest(gone);
	assert.equal(second.at(-1).type, 'stopped');
	assert.equal(second.at(-1).reason, 'sandbox_gone');
	assert.equal(ends(second).length, 1);
});

test('a reader who does not read is told to look himself', limit,
	async (t) => {
		const sandbox = await withTop(t);
		const events = await watched(t, sandbox);

		await next(events);
		/* far more than all buffers on the way and the kernel's queue */
		await sandbox.writeFile('/tmp/many.py', `
import os
os.chdir(${JSON.stringify(TOP)})
for i in range(60000):
    name = f"{i}-" + "x" * 200
    os.close(os.open(name, os.O_CREAT))
    os.unlink(name)
os.makedirs("late/sub")
`);
		const run = await sandbox.exec('python3 /tmp/many.py');
		assert.equal(run.exitCode, 0, run.stderr);
		const seen = await upTo(events, (e) => e.type === 'resync');
		assert.equal(seen.at(-1).reason, 'overflow');
		await sandbox.writeFile(`${TOP}/late/sub/f`, 'x');
		await upTo(events, named(`${TOP}/late/sub/f`));
	});

test('no more than 64 watches, and the refusal names the limit', limit,
	async (t) => {
		const sandbox = await withTop(t);
		const many = [];

		for (let i = 0; i < 64; i++)
			many.push(await watched(t, sandbox));
		const refusal = { code: 'LIMIT_EXCEEDED', httpStatus: 429 };
		const named64 = (error) => {
			assert.equal(error.code, refusal.code);
			assert.equal(error.httpStatus, refusal.httpStatus);
			assert.deepEqual(error.context,
				{ name: 'watches', limit: 64, used: 64 });
			return true;
		};
		await assert.rejects(sandbox.watch(TOP), named64);
		await assert.rejects(sandbox.checkChanges(TOP), named64);
		many[0].close();
		await until(WAIT_MS, 'room for another', () => sandbox.watch(TOP, {
			signal: AbortSignal.timeout(60_000),
		}).then((stream) => {
			stream.cancel();
			return true;
		}, () => false));
		assert.equal((await sandbox.exec('echo ok')).stdout, 'ok\n');
	});

test('inotify instances of the sandbox are its own limit, named', limit,
	async (t) => {
		const sandbox = await withTop(t);

		await sandbox.startProcess(`python3 -c '
import ctypes, time
libc = ctypes.CDLL(None)
while libc.inotify_init() >= 0: pass
print("full", flush=True)
time.sleep(1000)'`, { processId: 'hog' });
		await until(WAIT_MS, 'the hog',
			async () => (await sandbox.getProcessLogs('hog'))
			.stdout.includes('full'));
		await assert.rejects(sandbox.watch(TOP), (error) => {
			assert.equal(error.code, 'LIMIT_EXCEEDED');
			assert.deepEqual(error.context.name, 'inotifyInstances');
			assert.equal(error.context.limit, 128);
			assert.match(error.message, /128/);
			return true;
		});
	});

test('check tells whether something changed since', limit, async (t) => {
	const sandbox = await withTop(t);
	const first = await sandbox.checkChanges(TOP);

	assert.equal(first.status, 'unchanged');
	assert.match(first.version, /^watch-\d+-\d+:0$/);
	const cursor = ({ version }) => Number(version.split(':')[1]);
	const same = await sandbox.checkChanges(TOP, { since: first.version });
	assert.equal(same.status, 'unchanged');
	assert.equal(same.version, first.version);
	await sandbox.writeFile(`${TOP}/a/b`, 'x');
	const changed = await sandbox.checkChanges(TOP,
		{ since: first.version });
	assert.equal(changed.status, 'changed');
	assert.ok(cursor(changed) > 0);
	await sandbox.writeFile(`${TOP}/node_modules/m`, 'x');
	await sandbox.exec('touch /workspace/elsewhere');
	const after = await sandbox.checkChanges(TOP,
		{ since: changed.version });
	/* the excluded directory itself is not told either */
	assert.equal(after.status, 'unchanged');
	await until(WAIT_MS, 'others to end',
		async () => await executors(sandbox) === 1);
	assert.equal((await sandbox.checkChanges(TOP)).version, after.version);
	await assert.rejects(sandbox.checkChanges(TOP,
		{ since: first.version, include: ['*.ts'] }),
	{ code: 'VALIDATION_FAILED' });
	await assert.rejects(sandbox.checkChanges(TOP, { since: 'x' }),
		{ code: 'VALIDATION_FAILED' });
});

test('check says resync when nobody counted', limit, async (t) => {
	const sandbox = await withTop(t);
	const { version } = await sandbox.checkChanges(TOP);
	const [, key, ms] = /^watch-(\d+)-(\d+):0$/.exec(version);
	const ask = (since) => sandbox.checkChanges(TOP, { since });

	/* as of a time before this sandbox ran, and of one while it does */
	const before = await ask(`watch-${key}-1000:7`);
	assert.deepEqual([before.status, before.reason],
		['resync', 'restarted']);
	const during = await ask(`watch-${key}-${Number(ms) + 1}:7`);
	assert.deepEqual([during.status, during.reason],
		['resync', 'expired']);
	assert.equal((await ask(during.version)).status, 'unchanged');
});

for (const seed of [1, 2, 3])
	test(`a client that only reads events knows the tree (${seed})`, limit,
		async (t) => {
			const sandbox = await withTop(t);
			const events = await watched(t, sandbox);
			const mirror = new Mirror(TOP);
			const list = async () => (await sandbox.listFiles(TOP, {
				recursive: true, includeHidden: true })).files
				.map((f) => [f.relativePath,
					f.type === 'directory']);
			/* Reads what changed; a file may be gone again. */
			const readAll = async () => {
				for (const path of mirror.dirty)
					mirror.read(path, (await sandbox.readFile(
						`${TOP}/${path}`)).content);
			};

			await next(events);
			await sandbox.writeFile('/tmp/ops.py',
				await guest('tree_ops.py'));
			for (let round = 0; round < 4; round++) {
				const end = `end-${round}`;

				await sandbox.exec(`python3 /tmp/ops.py ${TOP} ${
					seed * 100 + round} 500; touch ${TOP}/${end}`);
				while (!mirror.has(end)) {
					const event = await next(events);

					if (event.type === 'resync')
						mirror.reset(await list());
					else
						mirror.apply(event);
				}
				await readAll();
				const real = await list();
				assert.deepEqual(mirror.paths, real.map(
					([path, dir]) => path + (dir ? '/' : ''))
					.sort());
				const texts = {};
				for (const [path, dir] of real)
					if (!dir)
						texts[path] = (await sandbox
							.readFile(`${TOP}/${path}`))
							.content;
				assert.deepEqual(mirror.texts, Object.fromEntries(
					Object.entries(texts).sort()));
			}
		});
