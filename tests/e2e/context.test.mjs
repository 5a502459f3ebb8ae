/**
 * Code contexts from outside: what becomes of them, of their runs and of
 * their output. Each language's own words are in tests/kernels.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { readFrames } from '../../clients/js/lib/sse.js';
import { timed, until, useStack, within } from './stack.mjs';

const limit = { timeout: 120_000 };
const stack = useStack();

const LANGUAGES = {
	python: { set: (n) => `mine = ${n}`, get: 'print(mine)',
		read: 'import sys; sys.stdout.write(sys.stdin.read())',
		cwd: 'import os; print(os.getcwd(), os.environ["A"])',
		exit: 'import os; os._exit(7)',
		kill: 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)',
		deaf: 'import signal, time\nsignal.signal(signal.SIGINT, ' +
			'signal.SIG_IGN)\nprint("on", flush=True)\nwhile True: pass',
		sleep: 'print("on", flush=True)\nimport time; time.sleep(60)',
		late: 'import threading, time\nthreading.Timer(0.5, print, ' +
			'["late"]).start()',
		counts: 'import time\nfor i in range(30): print(i); time.sleep(0.02)' },
	javascript: { set: (n) => `const mine = ${n}`, get: 'console.log(mine)',
		read: 'process.stdout.write(require("node:fs").readFileSync(0)); 0',
		cwd: 'console.log(process.cwd(), process.env.A)',
		exit: 'process.exit(7)', kill: 'process.kill(process.pid, "SIGKILL")',
		deaf: 'console.log("on"); require("node:child_process").spawnSync(' +
			'"/bin/sh", ["-c", "trap \\"\\" INT; exec sleep 60"])',
		sleep: 'console.log("on"); await new Promise((r) => ' +
			'setTimeout(r, 6e4))',
		late: 'setTimeout(() => console.log("late"), 500); 0',
		counts: 'for (let i = 0; i < 30; i++) { console.log(i); ' +
			'await new Promise((r) => setTimeout(r, 20)); }' },
	bash: { set: (n) => `mine=${n}`, get: 'echo $mine', read: 'cat', cwd: 'echo $PWD $A',
		exit: 'exit 7', kill: 'kill -9 $$',
		deaf: 'trap "" INT; echo on; while :; do :; done',
		sleep: 'echo on; sleep 60', late: '(sleep 0.5; echo late) &',
		counts: 'for i in {0..29}; do echo $i; sleep 0.02; done' },
};

const out = (run) => run.logs.stdout.join('');
const path = (sandbox, rest) => `/v1/sandboxes/${sandbox.name}/api${rest}`;

for (const [language, say] of Object.entries(LANGUAGES))
	describe(language, { timeout: 300_000 }, () => {
		const make = async (t, options = {}) => {
			const sandbox = stack.sandbox(t);
			const context = await sandbox.createCodeContext(
				{ language, ...options });

			return { sandbox, context,
				run: (code, more) =>
					sandbox.runCode(code, { context, ...more }) };
		};

		test('a context has its cwd and env, a run may have its own', limit,
			async (t) => {
				const { run } = await make(t,
					{ cwd: '/usr', envVars: { A: 'first' } });

				assert.equal(out(await run(say.cwd)), '/usr first\n');
				assert.equal(out(await run(say.cwd,
					{ envVars: { A: 'second' }, cwd: '/tmp' })),
				'/tmp second\n');
				assert.equal(out(await run(say.cwd)), '/usr first\n');
			});

		test('without a context each language has one of its own', limit,
			async (t) => {
				const sandbox = stack.sandbox(t);

				await sandbox.runCode(say.set(41), { language });
				assert.equal(out(await sandbox.runCode(say.get,
					{ language })), '41\n');
				assert.deepEqual((await sandbox.listCodeContexts())
					.map((each) => each.language), [language]);
			});

		test('a kernel that ends is told with its reason, and the next run ' +
			'has a fresh one', limit, async (t) => {
			const { run, sandbox } = await make(t);
			const ends = [[say.exit, 'exited', /exit code 7/],
				[say.kill, 'signalled', /signal/]];

			for (const [code, reason, text] of ends) {
				const { value } = await timed(() => within(20_000,
					'an answer', run(code)));

				assert.equal(value.state, 'lost');
				assert.equal(value.reason, reason);
				assert.equal(value.error.name, 'KernelDied');
				assert.match(value.error.message, text);
				assert.equal((await run(say.set(1))).state, 'kept');
				assert.equal(out(await run(say.get)), '1\n');
			}
			assert.deepEqual((await sandbox.listCodeContexts())
				.map((each) => each.state), ['running']);
		});

		test('a restart loses the names and keeps the context', limit,
			async (t) => {
				const { run, sandbox, context } = await make(t);

				await run(say.set(5));
				await sandbox.restartCodeContext(context.id);
				assert.notEqual(out(await run(say.get)), '5\n');
				assert.equal((await sandbox.listCodeContexts()).length, 1);
			});

		test('an interrupt and a timeout keep the state, and the next run ' +
			'has nothing of it', limit, async (t) => {
			const { run, sandbox, context } = await make(t);

			await run(say.set(9));
			const stopped = await run(say.sleep, { onStdout: async () => {
				assert.equal((await sandbox.interruptCodeContext(
					context.id)).state, 'kept');
			} });
			assert.equal(stopped.reason, 'interrupted');
			assert.equal(stopped.state, 'kept');
			assert.equal(out(await run(say.get)), '9\n');
			const late = await run(say.sleep, { timeout: 700 });
			assert.equal(late.reason, 'timed_out');
			assert.equal(late.state, 'kept');
			assert.equal(out(late), 'on\n');
			assert.equal(out(await run(say.get)), '9\n');
		});

		test('an interrupt at any moment ends the run, and no later one',
			limit, async (t) => {
				const { run, sandbox, context } = await make(t);

				await run(say.set(1));
				for (let turn = 0; turn < 20; turn++) {
					let over = false;
					const going = run(say.sleep).finally(() => over = true);
					/* it may be there before the run is */
					while (!over)
						await sandbox.interruptCodeContext(context.id);
					assert.equal((await going).reason, 'interrupted');
					assert.equal((await going).state, 'kept');
					assert.equal(out(await run(say.get)), '1\n');
				}
			});

		test('a run reads what it was given, and no other run does', limit,
			async (t) => {
				const { run } = await make(t);
				const stdin = 'one\n"two" \u00e9\n';

				assert.equal(out(await run(say.read, { stdin })), stdin);
				assert.equal(out(await run(say.read)), '');
				await run('', { stdin });
				assert.equal(out(await run(say.read)), '');
			});

		test('what no interrupt ends is killed, and said to be lost', limit,
			async (t) => {
				const { run, sandbox, context } = await make(t);
				let state;
				const value = await within(20_000, 'the end', run(say.deaf, {
					onStdout: async () => {
						({ state } = await sandbox.interruptCodeContext(
							context.id));
					} }));

				/* a child that is signalled too may end its waiter */
				assert.equal(value.state, state);
				if (language !== 'javascript')
					assert.equal(state, 'lost');
				await run(say.set(3));
				assert.equal(out(await run(say.get)), '3\n');
			});

		test('late output is in the context\'s log, not in the next run',
			limit, async (t) => {
				const { run, sandbox, context } = await make(t);

				await run(say.late);
				await within(20_000, 'the late line', (async () => {
					const answer = await fetch(stack.url +
						path(sandbox, `/contexts/${context.id}/log`),
					{ headers: { Authorization: `Bearer ${stack.apiKey}` } });

					for await (const { data } of readFrames(answer.body)) {
						const event = JSON.parse(data);
						if (event.type === 'stdout' &&
						    /late/.test(event.data))
							return;
					}
					assert.fail('the log ended');
				})());
				assert.equal(out(await run(say.set(1))), '');
			});

		test('a run goes on without its reader if asked to, and is read ' +
			'again by its number', limit, async (t) => {
			const { sandbox, context, run } = await make(t);
			const abort = new AbortController();
			const answer = await fetch(stack.url +
				path(sandbox, '/execute/code'), {
				method: 'POST', signal: abort.signal,
				headers: { Authorization: `Bearer ${stack.apiKey}`,
					'Content-Type': 'application/json' },
				body: JSON.stringify({ code: say.counts,
					contextId: context.id, onDisconnect: 'keep' }) });
			const id = answer.headers.get('x-execution-id');
			let last = 0, seen = '';

			for await (const frame of readFrames(answer.body)) {
				seen += JSON.parse(frame.data).text ?? '';
				last = frame.id ?? last;
				if (/\n2\n/.test(seen))
					break;
			}
			abort.abort();
			const again = await fetch(`${stack.url}${path(sandbox,
				`/executions/${id}/events`)}?after=${last}`,
			{ headers: { Authorization: `Bearer ${stack.apiKey}` } });

			for await (const { data } of readFrames(again.body))
				seen += JSON.parse(data).type === 'stdout' ?
					JSON.parse(data).data : '';
			assert.equal(seen, Array.from({ length: 30 },
				(_, i) => `${i}\n`).join(''));
			await run(say.set(4));
			assert.equal(out(await run(say.get)), '4\n');
		});

		test('a run ends with its reader otherwise, its context does not',
			limit, async (t) => {
				const { sandbox, context, run } = await make(t);
				const abort = new AbortController();

				await run(say.set(6));
				await assert.rejects(sandbox.runCode(say.sleep, { context,
					signal: abort.signal, onStdout: () => abort.abort() }));
				assert.equal(out(await within(20_000, 'the next run',
					run(say.get))), '6\n');
			});
	});

test('forty contexts at once, and none sees another', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const languages = Object.keys(LANGUAGES);
	const contexts = await Promise.all(Array.from({ length: 40 }, (_, n) =>
		sandbox.createCodeContext({ language: languages[n % 3] })));

	await Promise.all(contexts.map((context, n) => sandbox.runCode(
		LANGUAGES[languages[n % 3]].set(n), { context })));
	const seen = await Promise.all(contexts.map((context, n) =>
		sandbox.runCode(LANGUAGES[languages[n % 3]].get, { context })));
	assert.deepEqual(seen.map(out), contexts.map((_, n) => `${n}\n`));
	const listed = await sandbox.listCodeContexts();
	assert.equal(new Set(listed.map((each) => each.id)).size, 40);
	await Promise.all(contexts.map((each) =>
		sandbox.deleteCodeContext(each.id)));
	assert.deepEqual(await sandbox.listCodeContexts(), []);
	await assert.rejects(sandbox.runCode('1', { context: contexts[0] }),
		(error) => error.code === 'CONTEXT_NOT_FOUND');
});

/* WARREN_CYCLES=1000 for the long run. */
test('many contexts, made, run and dropped, leave nothing', {
	timeout: 580_000 }, async (t) => {
	const cycles = Number(process.env.WARREN_CYCLES ?? 120);
	const sandbox = stack.sandbox(t);
	const languages = Object.keys(LANGUAGES);
	const count = async () => Number((await sandbox.exec(
		'ls -d /proc/[0-9]* | wc -l')).stdout);
	const turn = async (n) => {
		const language = languages[n % 3];
		const context = await sandbox.createCodeContext({ language });

		await sandbox.runCode(LANGUAGES[language].set(n), { context });
		assert.equal(out(await sandbox.runCode(LANGUAGES[language].get,
			{ context })), `${n}\n`);
		await sandbox.deleteCodeContext(context.id);
	};
	const charged = async () => Number((await sandbox.exec(
		'cat /sys/fs/cgroup/memory.current 2>/dev/null || ' +
		'cat /sys/fs/cgroup/memory/memory.usage_in_bytes 2>/dev/null || ' +
		'echo 0')).stdout);

	for (let n = 0; n < 6; n++)
		await turn(n);
	const start = await count();
	const memory = await charged();

	for (let n = 0; n < cycles; n++)
		await turn(n);
	await until(10_000, 'as few processes as before',
		async () => await count() <= start);
	assert.deepEqual(await sandbox.listCodeContexts(), []);
	assert.ok(await charged() - memory < 48 << 20);
});
