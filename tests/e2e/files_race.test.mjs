/**
 * A link that is swapped in between check and use: 10,000 tries of each file
 * operation on trees to lead it out of the one that it was given, with PAIRS of
 * them in each call. Of files there are 1,000, a call for each; 10,000 are
 * tried on the executor itself (tests/unit/init/test_fs_race.c).
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { guest, uniqueName, until, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 300_000 };
const TRIES = 10_000;
const CALLS = 1_000;
const PAIRS = 50;
const AT_ONCE = 8;
const SECRET = 'of the machine alone';
const KEPT = 'kept-outside';
const OUT = '/workspace/out';
/* Only the machine has it; in the sandbox it is nothing, or another file. */
const host = `/tmp/${uniqueName()}`;
const run = promisify(execFile);

before(() => writeFile(host, SECRET, { mode: 0o666 }));
after(() => rm(host, { force: true }));

/** A key whose sandboxes can swap on one core and be asked on another. */
async function wideKey() {
	if (stack.noOperator)
		return stack.apiKey;
	const name = uniqueName();
	const apiKey = await stack.newTenant(name);

	await stack.warren('tenant', 'set', name, '--limit', 'cpuMillis=2000');
	return apiKey;
}

/**
 * A sandbox in which ${kind} of ${top} are swapped with links to ${target}.
 * `call(method, path, body)` asks there, and sees that no answer has
 * anything of outside; `ended()` that all is there and nothing more.
 */
async function racing(t, kind, top, target) {
	const apiKey = await wideKey();
	const sandbox = stack.sandbox(t, { apiKey });
	const agent = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE });
	const base = `/v1/sandboxes/${sandbox.name}`;

	t.after(() => agent.destroy());
	if (!stack.noOperator)
		await sandbox.create({ limits: { cpuMillis: 2000 } });
	await sandbox.writeFile('/tmp/swap.py', await guest('swap.py'));
	await sandbox.exec(`mkdir out; echo ${KEPT} >out/secret-out`);
	const swap = await sandbox.startProcess(
		`python3 /tmp/swap.py ${kind} ${top} ${target} ${PAIRS}`,
		{ cwd: '/workspace' });
	await until(30_000, 'the first of it', async () =>
		(await sandbox.exists(`${top}/b${PAIRS - 1}`)).exists ||
		(await sandbox.exists(`${top}/a${PAIRS - 1}`)).exists);
	return {
		sandbox,
		async call(method, path, body) {
			const answer = await stack.call(method, base + path, body,
				{ agent, headers: { Authorization: `Bearer ${apiKey}` } });

			/* What a link says is no secret; what it leads to is. */
			const text = answer.text.replaceAll(target, '');
			for (const word of [SECRET, KEPT, 'secret-out'])
				assert.ok(!text.includes(word), path);
			return answer;
		},
		async ended() {
			await sandbox.exec(`touch /workspace/${top}.stop`);
			await swap.waitForExit(30_000);
			const { stdout } = await sandbox.exec(
				`find ${OUT} | sort; cat ${OUT}/*`);

			assert.equal(stdout, `${OUT}\n${OUT}/secret-out\n${KEPT}\n`);
			assert.equal(await readFile(host, 'utf8'), SECRET);
		},
	};
}

/** Calls ${ask} with 0, 1, 2, …; how often each answer came, by ${what}. */
async function many(t, times, ask, what = ({ status }) => status,
	atOnce = AT_ONCE) {
	const seen = {};
	let next = 0;

	await Promise.all(Array.from({ length: atOnce }, async () => {
		while (next < times) {
			const key = what(await ask(next++));

			seen[key] = (seen[key] ?? 0) + 1;
		}
	}));
	t.diagnostic(JSON.stringify(seen));
	return seen;
}

test('swapped links lead no read out of the sandbox', limit,
	async (t) => {
		const { call, ended } = await racing(t, 'files', 'race', host);
		const seen = await many(t, CALLS,
			(i) => call('GET', `/files/race/a${i % PAIRS}`));

		await ended();
		assert.ok(seen[200] > 0);
	});

test('swapped links lead no write out of the sandbox', limit,
	async (t) => {
		const { call, ended } = await racing(t, 'files', 'race', host);
		const files = Array.from({ length: PAIRS }, (_, i) =>
			({ path: `race/a${i}`, content: 'inside' }));
		const seen = await many(t, CALLS / PAIRS,
			() => call('POST', '/api/write-files', { files, sync: false }),
			({ status, json }) => `${status} ${json.success}`);

		await ended();
		assert.ok(seen['200 true'] > 0);
	});

test('10,000 swapped links lead no list out of its tree', limit,
	async (t) => {
		const { call, ended } = await racing(t, 'dirs', 'race', OUT);
		const seen = await many(t, TRIES / PAIRS,
			() => call('POST', '/api/list-files', {
				path: '/workspace/race', options: { recursive: true },
			}), ({ status, json }) => `${status} ${json.unreadable ?? 'all'}`);

		await ended();
		assert.ok(seen['200 all'] > 0);
	});

test('10,000 swapped links lead no deletion out of its tree', limit,
	async (t) => {
		const { call, ended, sandbox } =
			await racing(t, 'dirs', 'race', OUT);
		const seen = await many(t, TRIES / PAIRS, async () => {
			await until(30_000, 'another tree', async () =>
				(await sandbox.exists('race')).exists);
			return call('DELETE', '/files/race?recursive');
		}, undefined, 1);

		await ended();
		assert.ok(seen[204] > 0);
		assert.equal(seen[404], undefined);
	});

for (const [kind, target] of [['dirs', OUT], ['files', `${OUT}/secret-out`]])
	test(`10,000 swapped links to ${kind} lead no archive out of its tree`,
		limit, async (t) => {
			const { call, ended } = await racing(t, kind, 'race', target);
			const seen = await many(t, TRIES / PAIRS,
				() => call('GET', '/archive/race'));

			await ended();
			/* A name that is another thing by now breaks none off. */
			assert.deepEqual(Object.keys(seen), ['200']);
		});

test('10,000 swapped links lead no unpacking out of its tree', limit,
	async (t) => {
		const { call, ended } = await racing(t, 'dirs', 'race', OUT);
		const entries = Array.from({ length: PAIRS }, (_, i) =>
			({ name: `a${i}/planted`, data: 'x' }));
		const { stdout: packed } = await run('python3',
			[new URL('guest/make_archive.py', import.meta.url).pathname,
				'tar', JSON.stringify(entries)], { encoding: 'buffer' });
		const seen = await many(t, TRIES / PAIRS,
			() => call('PUT', '/archive/race', packed));

		await ended();
		/* Through all of it, and into a link. */
		assert.ok(seen[200] > 0);
		assert.ok(seen[400] > 0);
	});
