/**
 * Spare kernels: contexts that waited for their call, [pool] in warren.ini.
 * On a stack of its own, or on the one of WARREN_URL if it has such a pool.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { getSandbox } from '../../clients/js/index.js';
import { charged } from './lib/charged.mjs';
import * as server from './lib/server.mjs';
import { uniqueName, until } from './stack.mjs';

const skip = !server.canServe() && 'needs root and nginx/serve';
const limit = { timeout: 180_000, skip };
let stack;

before(async () => {
	if (skip)
		return;
	const { WARREN_SPARE_URL: url, WARREN_API_KEY: apiKey } = process.env;
	if (url) {
		stack = { url, apiKey };
		return;
	}
	const data = await server.makeDataDir();
	await writeFile(path.join(data, 'warren.ini'),
		'[pool]\npython = 1\nwhen = start\n' +
		'[pool.host]\njavascript = 1\n');
	stack = await server.start({ port: await server.freePort(), data });
}, { timeout: 15 * 60_000 });

after(async () => {
	if (stack?.data)
		await server.stopAndRemove(stack.data);
});

function open(t) {
	const sandbox = getSandbox(uniqueName(),
		{ url: stack.url, apiKey: stack.apiKey });

	t.after(() => sandbox.destroy());
	return sandbox;
}

const LANGUAGES = {
	python: { pid: 'import os; print(os.getpid())', program: 'python3',
		random: 'import random, numpy, uuid; print(random.random(), ' +
			'numpy.random.random(), uuid.uuid4())',
		seen: 'import os; print(os.getcwd(), os.environ.get("A"), ' +
			'len(In), sorted(n for n in globals() if n[0] != "_"))',
		fresh: /^\/usr mine 2 \['In', 'Out', 'get_ipython', 'os'\]\n$/ },
	javascript: { pid: 'console.log(process.pid)', program: 'node',
		random: 'console.log(Math.random(), crypto.randomUUID())',
		seen: 'console.log(process.cwd(), process.env.A)',
		fresh: /^\/usr mine\n$/ },
};

const sh = async (sandbox, command) =>
	(await sandbox.exec(command)).stdout.trim();

/* What waits: forked programs that no context has. */
const waiting = async (sandbox, program, taken) =>
	/* the brackets: not the shell that asks */
	(await sh(sandbox, `pgrep -f '[${program[0]}]${program.slice(1)}` +
		`.*zygote' || true`))
		.split('\n').filter((pid) => pid && !taken.includes(pid));

const printed = async (sandbox, context, code) => {
	const run = await sandbox.runCode(code, { context });

	assert.equal(run.error, undefined, JSON.stringify(run.error));
	return run.logs.stdout.join('');
};

for (const [language, say] of Object.entries(LANGUAGES)) {
	/** A sandbox with one context and one spare kernel: its pid. */
	const ready = async (t) => {
		const sandbox = open(t);
		const taken = [];
		let spare;

		await until(90_000, `a spare ${language}`, async () => {
			const context = await sandbox.createCodeContext({ language });
			taken.push((await printed(sandbox, context, say.pid)).trim());
			await new Promise((done) => setTimeout(done, 500));
			[spare] = await waiting(sandbox, say.program, taken);
			return spare;
		});
		return { sandbox, taken, spare };
	};

	test(`${language}: a context takes the one that waits, and another ` +
		'is made', limit, async (t) => {
		const { sandbox, taken, spare } = await ready(t);
		const context = await sandbox.createCodeContext({ language });

		assert.equal((await printed(sandbox, context, say.pid)).trim(), spare);
		taken.push(spare);
		await until(10_000, 'the next one', async () => (await waiting(
			sandbox, say.program, taken)).length === 1);
		assert.equal((await sandbox.listCodeContexts()).length,
			taken.length);
	});

	test(`${language}: a sandbox's first context takes what has waited ` +
		'since its start', limit, async (t) => {
		/* the first ones of a stack may be made before its zygotes */
		await until(90_000, `a spare ${language}`, async () => {
			const sandbox = open(t);

			await sh(sandbox, 'true');
			const spare = await until(2000, 'it', async () =>
				(await waiting(sandbox, say.program, []))[0])
				.catch(() => undefined);
			if (!spare)
				return false;
			const context = await sandbox.createCodeContext({ language });
			assert.equal((await printed(sandbox, context, say.pid))
				.trim(), spare);
			return true;
		});
	});

	test(`${language}: it is as fresh as any`, limit, async (t) => {
		const { sandbox } = await ready(t);
		const [one, two] = await Promise.all([1, 2].map(() =>
			sandbox.createCodeContext({ language, cwd: '/usr',
				envVars: { A: 'mine' } })));

		for (const context of [one, two])
			assert.match(await printed(sandbox, context, say.seen),
				say.fresh);
		const drawn = [await printed(sandbox, one, say.random),
			await printed(sandbox, two, say.random)];
		for (const [at, word] of drawn[0].trim().split(' ').entries())
			assert.notEqual(word, drawn[1].trim().split(' ')[at]);
	});

	test(`${language}: one that was killed is missed by nobody`, limit,
		async (t) => {
			const { sandbox, spare } = await ready(t);

			await sh(sandbox, `kill -9 ${spare}`);
			const context = await sandbox.createCodeContext({ language });
			const pid = (await printed(sandbox, context, say.pid)).trim();
			assert.notEqual(pid, spare);
			await sh(sandbox, `kill -STOP ${(await until(10_000, 'another',
				async () => (await waiting(sandbox, say.program,
					[pid]))[0]))}`);
		});

	test(`${language}: its memory is the sandbox's`, limit, async (t) => {
		if (!stack.data)
			return t.skip('the stack is another machine\'s');
		const { sandbox, spare } = await ready(t);
		const { id } = await sandbox.getInfo();
		const before = charged(stack.data, id);

		await sh(sandbox, `kill -9 ${spare}`);
		await until(10_000, 'less', () =>
			before - charged(stack.data, id) > 1 << 20);
	});

	test(`${language}: a wrong cwd is told as always`, limit, async (t) => {
		const { sandbox } = await ready(t);

		await assert.rejects(
			sandbox.createCodeContext({ language, cwd: '/nowhere' }),
			(error) => error.httpStatus === 400 &&
				/cwd|nowhere/.test(JSON.stringify(error)));
	});
}

test('many contexts at once, some of them out of the pool', limit,
	async (t) => {
		const sandbox = open(t);

		for (let round = 0; round < 3; round++) {
			const contexts = await Promise.all(Array.from({ length: 8 },
				(_, n) => sandbox.createCodeContext({ language:
					n % 2 ? 'python' : 'javascript' })));
			const seen = await Promise.all(contexts.map((context, n) =>
				printed(sandbox, context, n % 2 ? `print(${n})` :
					`console.log(${n})`)));
			assert.deepEqual(seen, contexts.map((_, n) => `${n}\n`));
			await Promise.all(contexts.map((each) =>
				sandbox.deleteCodeContext(each.id)));
		}
		assert.deepEqual(await sandbox.listCodeContexts(), []);
	});
