/**
 * Sessions: a shell's state stays from call to call, and nothing that a
 * command does can wedge it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseSSEStream } from '../../clients/js/index.js';
import { pause, until, useStack, within } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };
const COMPAT = { 'X-Warren-Compat': '0.12' };

const api = (sandbox, path) => `/v1/sandboxes/${sandbox.name}/api/${path}`;

const execute = (sandbox, body, headers) =>
	stack.call('POST', api(sandbox, 'execute'), body, { headers });

async function out(calls, command, options) {
	return (await calls.exec(command, options)).stdout;
}

async function alive(sandbox, pid) {
	return await out(sandbox, `kill -0 ${pid} 2>/dev/null && echo yes`) ===
		'yes\n';
}

test('directory, variables, functions and aliases stay', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.exec('cd /usr; A=1; export B="two\nlines"; ' +
		'f() { echo "f $1"; }; alias greet="echo hi"; set -o pipefail');
	assert.equal(await out(sandbox, 'pwd; echo $A "$B"; f 3; greet you'),
		'/usr\n1 two\nlines\nf 3\nhi you\n');
	assert.equal((await sandbox.exec('false | true')).exitCode, 1);
});

test('sessions do not see each other\'s state', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const [one, two] = await Promise.all(
		['one', 'two'].map((id) => sandbox.createSession({ id })));

	await Promise.all([
		one.exec('cd /usr; export V=1; f() { :; }; alias a=b'),
		two.exec('cd /tmp; export V=2'),
	]);
	const look = 'pwd; echo ${V-none}; type f a 2>&1 | wc -l';
	assert.match(await out(one, look), /^\/usr\n1\n[3-9]\n$/);
	assert.equal(await out(two, look), '/tmp\n2\n2\n');
	assert.equal(await out(sandbox, look), '/workspace\nnone\n2\n');
	/* Files are shared. */
	await one.writeFile('/tmp/shared', 'x');
	assert.equal(await out(two, 'cat shared'), 'x');
});

test('a session starts with its cwd and env', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.create({ env: { BASE: 'b', GONE: 'g' } });
	const session = await sandbox.createSession(
		{ cwd: '/usr', env: { OWN: 'a \'b\'', GONE: null } });
	const look = 'pwd; echo "$BASE|$OWN|${GONE-unset}"';
	assert.equal(await out(session, look), '/usr\nb|a \'b\'|unset\n');
	await session.exec('export BASE=changed');
	assert.equal(await out(session, 'echo $BASE'), 'changed\n');
	assert.equal(await out(sandbox, 'echo $BASE'), 'b\n');
	await assert.rejects(sandbox.createSession({ cwd: '/no/such' }),
		(error) => error.httpStatus === 400 &&
			/\/no\/such/.test(error.message));
});

test('setEnvVars holds for later calls, null unsets', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const session = await sandbox.createSession({ env: { OLD: '1' } });

	await session.setEnvVars({ A: 'it\'s "$HOME"\n', OLD: null });
	assert.equal(await out(session, 'printf %s "$A"; echo ${OLD-none}'),
		'it\'s "$HOME"\nnone\n');
	assert.equal(await out(sandbox, 'echo ${A-none}'), 'none\n');
	/* A call's own env wins, for that call; null is ignored there. */
	assert.equal(await out(session, 'echo $A',
		{ env: { A: 'mine', HOME: null } }), 'mine\n');
	assert.equal(await out(session, 'echo ${A:0:4} $HOME'), 'it\'s /root\n');
	const events = [];
	for await (const event of parseSSEStream(await session.execStream(
		'echo $A', { env: { A: 'streamed' } })))
		events.push(event);
	assert.equal(events[1].data, 'streamed\n');
});

test('a session is made once, listed, told of and deleted', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const session = await sandbox.createSession(
			{ id: 's1', commandTimeoutMs: 5000 });

		await assert.rejects(sandbox.createSession({ id: 's1' }),
			(error) => error.httpStatus === 409 &&
				error.code === 'SESSION_ALREADY_EXISTS' &&
				error.context.sessionId === 's1' &&
				'containerPlacementId' in error.context);
		await session.exec('cd /usr/bin');
		const info = await session.getInfo();
		assert.equal(info.cwd, '/usr/bin');
		assert.equal(info.commandTimeoutMs, 5000);
		const list = await stack.call('GET', api(sandbox, 'session/list'));
		assert.deepEqual(list.json.data, ['s1']);
		assert.equal((await sandbox.getSession('s1')).id, 's1');
		await session.delete();
		await assert.rejects(session.delete(),
			{ httpStatus: 404, code: 'SESSION_NOT_FOUND' });
		await assert.rejects(sandbox.getSession('s1'),
			{ httpStatus: 404 });
		assert.deepEqual(await sandbox.listSessions(), []);
		/* The id is free, and clean. */
		const again = await sandbox.createSession({ id: 's1' });
		assert.equal(await out(again, 'pwd'), '/workspace\n');
	});

test('bad ids and a missing id are 400', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	for (const id of ['a b', '../x', '', 'x'.repeat(129),
		'__DISABLE_SESSION__'])
		await assert.rejects(sandbox.createSession({ id }),
			{ httpStatus: 400 });
	const missing = await stack.call('POST',
		api(sandbox, 'session/delete'), {});
	assert.equal(missing.status, 400);
	assert.equal((await execute(sandbox,
		{ command: 'true', sessionId: 'a/b' })).status, 400);
});

test('there are 256 sessions, one more is refused by name', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const make = () => sandbox.createSession();

		await sandbox.createSession({ id: 'first' });
		for (let i = 1; i < 256; i += 15)
			await Promise.all(Array.from({ length: 15 }, make));
		await assert.rejects(make(), { httpStatus: 429,
			code: 'LIMIT_EXCEEDED' });
		assert.equal((await sandbox.exec('echo on',
			{ sessionId: 'first' })).stdout, 'on\n');
		await sandbox.deleteSession('first');
		await make();
	});

test('the session is named by the body, a header or the query', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		for (const id of ['body', 'header', 'query'])
			await sandbox.exec(`WHO=${id}`, { sessionId: id });
		const command = 'echo ${WHO-default}';
		const ask = async (path, body, headers) => (await stack.call(
			'POST', api(sandbox, path), { command, ...body },
			{ headers })).json.stdout;
		assert.equal(await ask('execute'), 'default\n');
		assert.equal(await ask('execute?session=query'), 'query\n');
		assert.equal(await ask('execute?sessionId=query'), 'query\n');
		assert.equal(await ask('execute?session=query', {},
			{ 'X-Session-Id': 'header' }), 'header\n');
		assert.equal(await ask('execute?session=query',
			{ sessionId: 'body' }, { 'X-Session-Id': 'header' }),
		'body\n');
	});

test('without a session nothing is kept', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const none = { sessionId: '__DISABLE_SESSION__' };

	await sandbox.exec('cd /usr; export A=1', none);
	assert.equal(await out(sandbox, 'pwd; echo ${A-none}', none),
		'/workspace\nnone\n');
	const late = await sandbox.exec('sleep 30', { ...none, timeout: 50 });
	assert.equal(late.exitCode, 124);
	assert.equal(late.success, false);
	assert.match(late.stderr, /Command timed out after 50ms/);
});

test('relative paths start at the session\'s directory', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const session = await sandbox.createSession({ cwd: '/tmp' });

	await session.exec('mkdir -p "deep er/in"; cd "deep er"');
	await session.writeFile('in/file.txt', 'here');
	assert.equal(await out(sandbox, 'cat "/tmp/deep er/in/file.txt"'),
		'here');
	const { files } = await session.listFiles('in');
	assert.deepEqual(files.map((file) => file.name), ['file.txt']);
	assert.equal(await out(session, 'pwd', { cwd: 'in' }),
		'/tmp/deep er/in\n');
	await assert.rejects(session.exec('pwd', { cwd: 'nowhere' }),
		(error) => error.httpStatus === 400 &&
			/\/tmp\/deep er\/nowhere/.test(error.message));
	await sandbox.exec('cd /usr');
	assert.equal((await sandbox.exists('bin')).exists, true);
});

test('no ending wedges a session or loses its state', limit, async (t) => {
	const session = await stack.sandbox(t).createSession();

	await session.exec('cd /usr; V=here');
	for (const [command, code] of [
		['exit 42', 42], ['set -e; false; echo no', 1],
		['exec sh -c "exit 7"', 7], ['kill -9 $$', 137],
		['echo "open', 2], ['cat <<E\nno end', 0], ['exec >&-', 0],
		['rm -rf /tmp/* /tmp/.[a-z]*', 0], ['trap "exit 9" EXIT', 9],
		['return 3', undefined], ['set -u; echo $nothing', undefined],
	]) {
		const result = await within(10_000, command,
			session.exec(command));
		if (code !== undefined)
			assert.equal(result.exitCode, code, command);
		assert.equal(await out(session,
			'set +eu; pwd; echo $V'), '/usr\nhere\n', command);
	}
});

test('a removed working directory stops no later call', limit, async (t) => {
	const session = await stack.sandbox(t).createSession();

	await session.exec('mkdir /tmp/gone; cd /tmp/gone; rmdir /tmp/gone');
	assert.equal(await out(session, 'echo ok'), 'ok\n');
	await session.exec('mkdir /tmp/link; cd /tmp/link; rmdir /tmp/link; ' +
		'ln -s /nowhere /tmp/link');
	assert.equal(await out(session, 'echo ok'), 'ok\n');
});

test('with the compatibility header a shell that ends is told as 410', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const other = await sandbox.createSession({ id: 'other' });

		await other.exec('cd /usr');
		for (const [command, code] of [['exit 1', 1], ['exit 42', 42],
			['set -e; false', 1]]) {
			const { status, json } = await execute(sandbox,
				{ command }, COMPAT);
			assert.equal(status, 410, command);
			assert.equal(json.code, 'SESSION_TERMINATED');
			assert.match(json.message, /shell exited/);
			assert.match(json.message,
				new RegExp(`exit code: ${code}`));
			assert.deepEqual(json.context,
				{ sessionId: 'default', exitCode: code });
			await sandbox.exec('set +e');
		}
		/* It saved nothing: what the call before it saved is no answer. */
		const shot = await execute(sandbox, { command: 'kill -9 $$' },
			COMPAT);
		assert.equal(shot.status, 410);
		assert.equal(shot.json.context.exitCode, 137);
		for (const command of ['false', '(exit 4)', 'bash -c "exit 4"'])
			assert.equal((await execute(sandbox, { command }, COMPAT))
				.status, 200, command);
		assert.equal(await out(other, 'pwd'), '/usr\n');
		assert.equal((await execute(sandbox, { command: 'exit 3',
			sessionId: '__DISABLE_SESSION__' }, COMPAT)).status, 200);
	});

test('with the compatibility header a timeout is 500', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const value = await execute(sandbox,
		{ command: 'echo started > /tmp/a; sleep 600; echo > /tmp/b',
			timeoutMs: 300 }, COMPAT);

	assert.equal(value.status, 500);
	assert.equal(value.json.code, 'COMMAND_EXECUTION_ERROR');
	assert.match(value.json.message, /Command timeout after 300ms/);
	assert.equal(await out(sandbox, 'ls /tmp'), 'a\n');
});

test('commandTimeoutMs is of each command, a command\'s own wins', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const session = await sandbox.createSession(
			{ commandTimeoutMs: 200 });
		const late = await session.exec('echo a; sleep 600');

		assert.equal(late.reason, 'timed_out');
		assert.equal(late.stdout, 'a\n');
		assert.match(late.stderr, /Command timed out after 200ms/);
		const own = await session.exec('sleep 0.4; echo done',
			{ timeout: 20_000 });
		assert.equal(own.stdout, 'done\n');
		const server = await session.startProcess('sleep 0.5; echo up');
		assert.equal((await server.waitForExit(10_000)).exitCode, 0);
	});

test('a command that timed out is killed, and the next one runs', limit,
	async (t) => {
		const session = await stack.sandbox(t).createSession();

		await session.exec('V=kept; cd /usr');
		await session.exec('setsid sleep 661 & sleep 661',
			{ timeout: 200 });
		assert.equal(await out(session, 'pwd; echo $V; ' +
			'pgrep -fc "^sleep 661"'), '/usr\nkept\n0\n');
	});

test('commands of one session run one after another', limit, async (t) => {
	const session = await stack.sandbox(t).createSession();
	const results = await Promise.all(Array.from({ length: 20 },
		(_, i) => session.exec(`n=$((\${n-0} + 1)); echo ${i} $n`)));
	const seen = results.map((result) => result.stdout.split(' '));

	assert.deepEqual(seen.map(([i]) => Number(i)),
		Array.from({ length: 20 }, (_, i) => i));
	assert.deepEqual(seen.map(([, n]) => Number(n)).sort((a, b) => a - b),
		Array.from({ length: 20 }, (_, i) => i + 1));
});

/** A command that tells when it has begun and waits for its go. */
const gated = (name, then) => `touch /tmp/begun-${name}; ` +
	`until test -e /tmp/go-${name}; do sleep 0.02; done; ${then}`;

test('calls that name no session do not wait for each other', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const begun = (name) => until(5000, name, async () =>
			(await sandbox.exists(`/tmp/begun-${name}`)).exists);
		const go = (name) => sandbox.writeFile(`/tmp/go-${name}`, '');

		await sandbox.exec('cd /usr; V=first');
		const quiet = sandbox.exec(gated('quiet', 'pwd'));
		await begun('quiet');
		assert.equal(await out(sandbox, 'echo hi'), 'hi\n');
		/* What one changes holds for those that begin after it. */
		await sandbox.exec('cd /tmp; V=second');
		assert.equal(await out(sandbox, 'pwd; echo $V'),
			'/tmp\nsecond\n');
		await go('quiet');
		assert.equal((await quiet).stdout, '/usr\n');
		assert.equal(await out(sandbox, 'pwd; echo $V'),
			'/tmp\nsecond\n');
		/* Of two that both change something: the one that began last. */
		const older = sandbox.exec(gated('older', 'V=older'));
		await begun('older');
		const newer = sandbox.exec(gated('newer', 'V=newer'));
		await begun('newer');
		await go('newer');
		await newer;
		await go('older');
		await older;
		assert.equal(await out(sandbox, 'echo $V'), 'newer\n');
		/* One that only looks takes nothing back. */
		const changes = sandbox.exec(gated('changes', 'V=changed'));
		await begun('changes');
		assert.equal(await out(sandbox, 'echo $V'), 'newer\n');
		await go('changes');
		await changes;
		assert.equal(await out(sandbox, 'echo $V'), 'changed\n');
		/* The same session, named, waits for its turn. */
		const all = await Promise.all(Array.from({ length: 8 }, () =>
			sandbox.exec('n=$((${n-0} + 1)); echo $n',
				{ sessionId: 'default' })));
		assert.deepEqual(all.map(({ stdout }) => Number(stdout))
			.sort((a, b) => a - b), [1, 2, 3, 4, 5, 6, 7, 8]);
	});

test('commands of two sessions run side by side', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	/* Each waits for the other's step: one after the other never ends. */
	const step = (id, other) => `for i in 1 2 3 4; do echo ${id}; ` +
		`touch /tmp/${id}$i; until test -e /tmp/${other}$i; ` +
		'do sleep 0.02; done; done';
	const value = await Promise.all([['a', 'b'], ['b', 'a']].map(
		([id, other]) => sandbox.exec(step(id, other),
			{ sessionId: id })));

	assert.deepEqual(value.map((result) => result.stdout),
		['a\na\na\na\n', 'b\nb\nb\nb\n']);
});

test('a caller that leaves the queue takes its command along', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const session = await sandbox.createSession();
		const stop = new AbortController();
		const first = session.exec(gated('first', 'rm /tmp/*-first'));

		await until(5000, 'the first', async () =>
			(await sandbox.exists('/tmp/begun-first')).exists);
		const second = assert.rejects(
			session.exec('touch /tmp/ran', { signal: stop.signal }),
			{ name: 'AbortError' });
		await pause(200);
		stop.abort();
		await second;
		/* Who leaves is missed within a second, by a busy worker later. */
		await pause(2000);
		await sandbox.writeFile('/tmp/go-first', '');
		await first;
		assert.equal(await out(session, 'ls /tmp'), '');
	});

test('a deleted session takes its processes and its queue along', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const session = await sandbox.createSession({ id: 'doomed' });
		const server = await session.startProcess('exec sleep 600');
		const running = session.exec('sleep 600');

		await until(5000, 'the command', async () =>
			(await session.getInfo()).busy);
		const queued = assert.rejects(session.exec('echo no'),
			{ httpStatus: 410, code: 'SESSION_DESTROYED' });
		await pause(100);
		await session.delete();
		await queued;
		assert.equal((await running).reason, 'killed');
		await until(5000, 'the end of the process', async () =>
			!await alive(sandbox, server.pid));
		assert.equal(await server.getStatus(), 'killed');
		assert.equal(await out(sandbox, 'echo fine'), 'fine\n');
	});

test('processes start from their session and are known to all', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const session = await sandbox.createSession();

		await session.exec('cd /usr; export V=1; f() { echo "f $V"; }');
		const started = await session.startProcess('pwd; f; V=2; cd /');
		await started.waitForExit(10_000);
		assert.equal((await started.getLogs()).stdout, '/usr\nf 1\n');
		assert.equal(await out(session, 'pwd; echo $V'), '/usr\n1\n');
		const server = await session.startProcess('exec sleep 600');
		const ids = (await sandbox.listProcesses()).map(({ id }) => id);
		assert.ok(ids.includes(server.id));
		await sandbox.killProcess(server.id);
		assert.equal(await server.getStatus(), 'killed');
	});

test('argv is run as given, in a session too', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const argv = ['printf', '[%s]', 'a b', '', '$HOME', 'it\'s', '-n', 'ü\n'];
	const want = '[a b][][$HOME][it\'s][-n][ü\n]';

	await sandbox.exec('cd /usr; printf() { echo no; }; alias printf=no');
	for (const sessionId of [undefined, 'default']) {
		const { json } = await execute(sandbox, { argv, sessionId });
		assert.equal(json.stdout, want);
	}
	assert.equal((await execute(sandbox,
		{ argv: ['pwd'], sessionId: 'default' })).json.stdout, '/usr\n');
	const none = await execute(sandbox,
		{ argv: ['no-such-program'], sessionId: 'default' });
	assert.equal(none.json.exitCode, 127);
	assert.match(none.json.stderr, /not found/);
});

test('a session of a sandbox that ended begins anew with its settings', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const session = await sandbox.createSession(
			{ id: 's', cwd: '/usr', env: { A: '1' } });

		await session.exec('export B=2; cd /');
		await session.exec('pwd');
		const { id } = await sandbox.getInfo();
		const { keepersOf } = await import('./lib/hostproc.mjs');
		const [keeper] = keepersOf(id);
		if (keeper === undefined || process.getuid() !== 0)
			return t.skip('needs root and the stack\'s machine');
		process.kill(keeper, 'SIGKILL');
		await until(10_000, 'the next keeper', async () =>
			(await session.exec('true').catch(() => null)) !== null);
		assert.equal(await out(session, 'pwd; echo $A ${B-none}'),
			'/usr\n1 none\n');
	});
