/**
 * Sessions of the public client: behaviours 16 to 25 of its wire.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
	all, limit, SESSIONLESS, textOf, useWire,
} from './client.mjs';

const wire = useWire();

/** A client and `out(command, session)`: its output, trimmed. */
function shell(t) {
	const client = wire.client(t);

	return {
		...client,
		out: async (command, session, options) =>
			(await client.commands.execute(command, session, options))
				.stdout.trim(),
	};
}

test('16 session: variables differ and do not leak to the default', limit,
	async (t) => {
		const { utils, out } = shell(t);
		const show = 'echo ${MODE-none}';

		await utils.createSession({ id: 'a', env: { MODE: 'one' } });
		await utils.createSession({ id: 'b', env: { MODE: 'two' } });
		assert.equal(await out(show, 'a'), 'one');
		assert.equal(await out(show, 'b'), 'two');
		assert.equal(await out(show, 'default'), 'none');
	});

test('17 session: the working directory differs and persists', limit,
	async (t) => {
		const { utils, files, out } = shell(t);

		await files.mkdir('/workspace/app/src', 'x', { recursive: true });
		await utils.createSession({ id: 'a', cwd: '/workspace/app' });
		await utils.createSession({ id: 'b', cwd: '/tmp' });
		assert.equal(await out('pwd', 'a'), '/workspace/app');
		assert.equal(await out('pwd', 'b'), '/tmp');
		await out('cd src', 'a');
		assert.equal(await out('pwd', 'a'), '/workspace/app/src');
		assert.equal(await out('pwd', 'b'), '/tmp');
	});

test('18 session: functions and aliases do not leak', limit, async (t) => {
	const { commands, out } = shell(t);

	await out('greet() { echo hello from a; }; alias l="echo alias"', 'a');
	assert.equal(await out('greet', 'a'), 'hello from a');
	for (const command of ['greet', 'l'])
		assert.equal((await commands.execute(command, 'b')).exitCode,
			127);
});

test('19 session: a process of one is listed and killed from another',
	limit, async (t) => {
		const { utils, processes, commands } = shell(t);

		await utils.createSession({ id: 'a' });
		await utils.createSession({ id: 'b' });
		const { processId } = await processes.startProcess(
			'sleep 300', 'a');
		await commands.execute('true', 'b');
		const list = await processes.listProcesses();
		assert.ok(list.processes.some((one) => one.id === processId));
		assert.equal((await processes.killProcess(processId)).success,
			true);
		const one = await processes.getProcess(processId);
		assert.notEqual(one.process.status, 'running');
	});

test('20 session: files are shared', limit, async (t) => {
	const { files, out } = shell(t);

	await files.writeFile('/workspace/shared.txt', 'for all', 'a');
	assert.equal(await out('cat /workspace/shared.txt', 'b'), 'for all');
	assert.equal((await files.readFile('/workspace/shared.txt', 'c'))
		.content, 'for all');
});

test('21 session: two run at once and never mix', limit, async (t) => {
	const { out } = shell(t);
	/* Each waits for the other's step: one after the other never ends. */
	const say = (word, other) => `for i in 1 2 3 4; do echo ${word}; ` +
		`touch /tmp/${word}$i; until test -e /tmp/${other}$i; ` +
		'do sleep 0.02; done; done';

	assert.deepEqual(await Promise.all([['a', 'b'], ['b', 'a']].map(
		([id, other]) => out(say(id, other), id))),
	['a\na\na\na', 'b\nb\nb\nb']);
});

test('22 session: calls of one run one after another', limit, async (t) => {
	const { commands, out } = shell(t);

	await out('n=0', 's');
	const answers = await Promise.all(Array.from({ length: 8 }, (_, i) =>
		commands.execute('test ! -e busy && touch busy && ' +
			`n=$((n + 1)) && sleep 0.1 && rm busy && echo ${i} $n`,
		's')));
	answers.forEach((answer, i) => {
		assert.equal(answer.exitCode, 0);
		assert.match(answer.stdout, new RegExp(`^${i} [1-8]\n$`));
	});
	assert.equal(await out('echo $n', 's'), '8');
});

test('23 session: a deleted one is gone, its name is free and clean', limit,
	async (t) => {
		const { utils, out } = shell(t);

		await utils.createSession({ id: 's', env: { A: 'old' } });
		await out('export B=old; cd /tmp', 's');
		const gone = await utils.deleteSession('s');
		assert.equal(gone.success, true);
		assert.equal(gone.sessionId, 's');
		const again = await utils.createSession({ id: 's' });
		assert.equal(again.success, true);
		assert.equal(again.data.id, 's');
		assert.equal(await out('echo ${A-no} ${B-no} $PWD', 's'),
			'no no /workspace');
		assert.equal(await out('echo on', 'other'), 'on');
	});

test('23 session: one that lives is not made again', limit, async (t) => {
	const { utils } = shell(t);

	await utils.createSession({ id: 's' });
	await assert.rejects(utils.createSession({ id: 's' }), (error) => {
		assert.equal(error.name, 'SessionAlreadyExistsError');
		assert.equal(error.httpStatus, 409);
		assert.equal(error.context.sessionId, 's');
		assert.ok('containerPlacementId' in error.context);
		return true;
	});
});

test('23 session: the same one made at once is made once', limit,
	async (t) => {
		const { utils } = shell(t);
		const made = await Promise.allSettled(Array.from({ length: 5 },
			() => utils.createSession({ id: 's' })));

		assert.equal(made.filter((one) =>
			one.status === 'fulfilled').length, 1);
		for (const one of made)
			if (one.status === 'rejected')
				assert.equal(one.reason.name,
					'SessionAlreadyExistsError');
	});

test('24 sessionless: nothing carries over, cwd is /workspace', limit,
	async (t) => {
		const { out } = shell(t);

		await out('cd /tmp; export A=1; f() { :; }', SESSIONLESS);
		assert.equal(await out('echo $PWD ${A-no} $(type -t f)',
			SESSIONLESS), '/workspace no');
	});

test('25 sessionless: streams work, 50 ms late is exit 124', limit,
	async (t) => {
		const { commands } = shell(t);
		const events = await all(await commands.executeStream(
			'echo a; echo b', SESSIONLESS));

		assert.equal(textOf(events, 'stdout'), 'a\nb\n');
		assert.equal(events.at(-1).exitCode, 0);
		const late = await commands.execute('sleep 10', SESSIONLESS,
			{ timeoutMs: 50 });
		assert.equal(late.success, false);
		assert.equal(late.exitCode, 124);
		assert.match(late.stderr, /Command timed out after 50ms/);
	});

test('25 sessionless: sessions beside it keep their state', limit,
	async (t) => {
		const { utils, files, out } = shell(t);

		await utils.createSession({ id: 's' });
		await out('mkdir -p /tmp/here && cd /tmp/here && touch mine', 's');
		await out('cd /', SESSIONLESS);
		const list = await files.listFiles('.', 's');
		assert.deepEqual(list.files.map((file) => file.name), ['mine']);
		const outside = await files.listFiles('.', SESSIONLESS);
		assert.deepEqual(outside.files, []);
		assert.equal(await out('pwd', 's'), '/tmp/here');
	});
