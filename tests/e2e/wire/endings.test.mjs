/**
 * Where programs that were written for the public client used to hang or to
 * be told an ending that was none: here each call ends, and the next works.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CodeInterpreter } from '@cloudflare/sandbox';

import {
	all, COMPAT, limit, SESSIONLESS, textOf, timed, until, useWire,
} from './client.mjs';

const wire = useWire();
const works = async (client, session = 's') =>
	assert.equal((await client.commands.execute('echo works', session))
		.stdout, 'works\n');

for (const [name, headers] of [['', {}], [' (as 0.12 has it)', COMPAT]]) {
	for (const session of ['s', SESSIONLESS])
		test(`exit N ends a stream, session ${session}${name}`, limit,
			async (t) => {
				const client = wire.client(t, { headers });
				const events = await all(
					await client.commands.executeStream(
						'echo before; exit 9', session));

				assert.equal(textOf(events, 'stdout'), 'before\n');
				assert.equal(events.at(-1).type, 'complete');
				assert.equal(events.at(-1).exitCode, 9);
				await works(client, session);
			});

	test(`exit N ends a process in a session${name}`, limit, async (t) => {
		const client = wire.client(t, { headers });
		const { processId } = await client.processes.startProcess(
			'echo before; exit 9', 's');
		const events = await all(
			await client.processes.streamProcessLogs(processId));

		assert.equal(events.at(-1).type, 'exit');
		assert.equal(events.at(-1).exitCode, 9);
		await until(5000, 'it is told', async () => (await client
			.processes.getProcess(processId)).process.status ===
			'failed');
		await works(client);
	});

	test(`an unclosed quote, set -e and an emptied /tmp wedge no session${
		name}`, limit, async (t) => {
		const client = wire.client(t, { headers });

		for (const command of ['echo "never closed', 'set -e',
			'rm -rf /tmp/*', 'exec true', 'kill -9 $$']) {
			await client.commands.execute(
				command, 's').catch((error) => {
				assert.equal(error.code, 'SESSION_TERMINATED');
			});
			await works(client);
		}
		await client.commands.execute('set -e; false', 's')
			.catch((error) => {
				assert.equal(error.code, 'SESSION_TERMINATED');
			});
		await works(client);
	});
}

test('a stream\'s timeout is kept, and the next command does not wait',
	limit, async (t) => {
		const client = wire.client(t);

		for (const session of ['s', SESSIONLESS]) {
			const value = await all(
				await client.commands.executeStream(
					'echo before; sleep 600', session,
					{ timeoutMs: 700 }));
			assert.equal(textOf(value, 'stdout'), 'before\n');
			assert.equal(value.at(-1).type, 'complete');
			assert.equal(value.at(-1).exitCode, 124);
			await works(client, session);
		}
	});

test('output is what was printed: no newline more or less', limit,
	async (t) => {
		const { commands } = wire.client(t);

		for (const session of ['s', SESSIONLESS])
			for (const text of ['x', 'x\n', 'x\n\n', '\n', '']) {
				const command = `printf '${
					text.replaceAll('\n', '\\n')}'`;
				const told = await commands.execute(command,
					session);
				assert.equal(told.stdout, text);
				assert.equal(textOf(await all(
					await commands.executeStream(command,
						session)), 'stdout'), text);
			}
	});

test('4 MB of lines come whole and soon', limit, async (t) => {
	const { commands } = wire.client(t);
	const { stdout } = await commands.execute('yes | head -c 4000000', 's');

	assert.equal(stdout, 'y\n'.repeat(2_000_000));
});

test('a second kill of a process says that it is over', limit,
	async (t) => {
		const { processes } = wire.client(t);
		const { processId } = await processes.startProcess(
			'sleep 300', 's');

		assert.equal((await processes.killProcess(processId)).success,
			true);
		const again = await processes.killProcess(processId).then(
			(answer) => answer.success,
			(error) => error.code);
		assert.ok([true, 'PROCESS_NOT_FOUND'].includes(again), again);
		assert.equal((await processes.getProcess(processId))
			.process.status, 'killed');
	});

test('code that asks for input, ends its kernel or prints past it ends',
	limit, async (t) => {
		const code = new CodeInterpreter(wire.client(t).interpreter);
		const run = (text, language) => code.runCode(text, { language });

		assert.ok((await run('input()', 'python')).error !== undefined);
		const past = await run('import os\nos.system("echo past")\n1',
			'python');
		assert.match(past.logs.stdout.join(''), /past/);
		assert.equal(past.results.at(-1).text, '1');
		await run('import os; os._exit(3)', 'python');
		assert.equal((await run('2 + 2', 'python')).results.at(-1).text,
			'4');
		await run('process.exit(3)', 'javascript');
		assert.equal((await run('2 + 3', 'javascript'))
			.results.at(-1).text, '5');
	});

test('a context is deleted soon', limit, async (t) => {
	const code = new CodeInterpreter(wire.client(t).interpreter);

	for (const language of ['python', 'javascript', 'typescript']) {
		const made = await timed(() =>
			code.createCodeContext({ language }));
		const { ms } = await timed(() =>
			code.deleteCodeContext(made.value.id));
		/* Whatever the machine has to do besides. */
		assert.ok(ms < 1000 + 10 * made.ms, `${ms} ms`);
	}
});

test('a context\'s cwd and env are the code\'s', limit, async (t) => {
	const code = new CodeInterpreter(wire.client(t).interpreter);
	const context = await code.createCodeContext(
		{ language: 'python', cwd: '/tmp', envVars: { A: 'from env' } });
	const run = await code.runCode('import os\n' +
		'print(os.getcwd(), os.environ["A"])', { context });

	assert.equal(run.logs.stdout.join(''), '/tmp from env\n');
});
