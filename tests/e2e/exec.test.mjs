/**
 * Commands: what a program did is told exactly, and no call hangs.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseSSEStream } from '../../clients/js/index.js';
import { readFrames } from '../../clients/js/lib/sse.js';
import { pause, timed, until, useStack, within } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };

async function eventsOf(stream) {
	const events = [];

	for await (const event of parseSSEStream(stream))
		events.push(event);
	return events;
}

const textOf = (events, type) => events
	.filter((event) => event.type === type)
	.map((event) => event.data).join('');

/** How many processes of the sandbox have ${word} among their words. */
async function countOf(sandbox, word) {
	const { stdout } = await sandbox.exec(
		'for f in /proc/[0-9]*/cmdline; do ' +
		'tr "\\0" "\\n" < $f 2>/dev/null | grep -qx -- "$WORD" && ' +
		'echo $f; done; true', { env: { WORD: word } });

	return stdout.split('\n').length - 1;
}

test('echo gives its output and success', limit, async (t) => {
	const result = await stack.sandbox(t).exec('echo hello');

	assert.equal(result.success, true);
	assert.equal(result.exitCode, 0);
	assert.equal(result.stdout, 'hello\n');
	assert.equal(result.stderr, '');
	assert.equal(result.command, 'echo hello');
	assert.equal(result.reason, 'exited');
	assert.ok(Date.parse(result.timestamp) > 0);
});

test('the exit code and signal are those of the program', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const failed = await sandbox.exec('exit 42');

		assert.equal(failed.exitCode, 42);
		assert.equal(failed.success, false);
		assert.equal(failed.reason, 'exited');
		const killed = await sandbox.exec('kill -9 $$');
		assert.equal(killed.exitCode, 137);
		assert.equal(killed.reason, 'signalled');
		assert.equal((await sandbox.exec('exec /bin/false')).exitCode, 1);
		assert.equal((await sandbox.exec('set -e; false; echo no'))
			.stdout, '');
		assert.equal((await sandbox.exec('echo fine')).stdout, 'fine\n');
	});

test('a heredoc reaches the shell unchanged', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const { stdout } = await sandbox.exec(
		'cat <<\'EOF\'\n\tline 1\n  $HOME "quoted"\n\nEOF');

	assert.equal(stdout, '\tline 1\n  $HOME "quoted"\n\n');
});

test('an unclosed quote fails and the next call works', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const result = await sandbox.exec('echo "open');

		assert.equal(result.exitCode, 2);
		assert.match(result.stderr, /unexpected EOF/);
		assert.equal((await sandbox.exec('echo ok')).stdout, 'ok\n');
	});

test('a removed working directory stops no later call', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.exec('rm -rf /workspace');
		assert.equal((await sandbox.exec('echo ok')).stdout, 'ok\n');
	});

test('a missing cwd is 400 and named', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await assert.rejects(sandbox.exec('true', { cwd: '/no/such/dir' }),
		(error) => {
			assert.equal(error.httpStatus, 400);
			assert.match(error.message, /\/no\/such\/dir/);
			return true;
		});
});

test('a command that reads its input ends at once', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const cat = await within(5000, 'cat', sandbox.exec('cat'));

	assert.equal(cat.exitCode, 0);
	assert.equal(cat.stdout, '');
	assert.equal((await sandbox.exec('read x')).exitCode, 1);
});

test('stdin takes text and bytes and then ends', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const text = 'a "b" $HOME `id` \\ \n\'c\'';
	const all = Uint8Array.from({ length: 256 }, (_, i) => i);

	assert.equal((await sandbox.exec('cat', { stdin: text })).stdout, text);
	const back = await sandbox.exec('cat',
		{ stdin: all, encoding: 'base64' });
	assert.deepEqual(Buffer.from(back.stdout, 'base64'), Buffer.from(all));
	const big = 'x'.repeat(1 << 20);
	assert.equal((await sandbox.exec('wc -c', { stdin: big }))
		.stdout.trim(), String(big.length));
});

test('a background child that holds the pipe does not hold the call', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const value = await sandbox.exec('sleep 612 & echo up');

		assert.equal(value.stdout, 'up\n');
		assert.equal(await countOf(sandbox, '612'), 1, 'it lives on');
	});

test('a timeout kills all that was started and keeps the output', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const { ms, value } = await timed(() => sandbox.exec(
			'echo started; setsid sleep 613 & sleep 613',
			{ timeout: 500 }));

		assert.ok(ms >= 500, `${ms} ms`);
		assert.equal(value.exitCode, 124);
		assert.equal(value.success, false);
		assert.equal(value.reason, 'timed_out');
		assert.equal(value.stdout, 'started\n');
		assert.match(value.stderr, /Command timed out after 500ms/);
		assert.equal(await countOf(sandbox, '613'), 0);
	});

test('a timeout ends a program that ignores TERM', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const value = await sandbox.exec(
		'trap "" TERM; echo deaf; while :; do sleep 0.1; done',
		{ timeout: 300 });

	assert.equal(value.reason, 'timed_out');
	assert.equal(value.stdout, 'deaf\n');
});

test('a last line without its newline is kept', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	assert.equal((await sandbox.exec('printf x')).stdout, 'x');
	const events = await eventsOf(await sandbox.execStream('printf x'));
	assert.equal(textOf(events, 'stdout'), 'x');
});

test('bytes that are not UTF-8 come as U+FFFD, or exact in base64', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const command = "printf 'a\\377b\\000c'";

		assert.equal((await sandbox.exec(command)).stdout,
			'a\uFFFDb\0c');
		const exact = await sandbox.exec(command,
			{ encoding: 'base64' });
		assert.equal(Buffer.from(exact.stdout, 'base64')
			.toString('latin1'), 'a\xffb\0c');
	});

test('base64 has no line breaks', limit, async (t) => {
	const { stdout } = await stack.sandbox(t).exec(
		'head -c 1000 /dev/zero', { encoding: 'base64' });

	assert.match(stdout, /^[A-Za-z0-9+/]+=*$/);
	assert.equal(Buffer.from(stdout, 'base64').length, 1000);
});

test('an unknown command is 127 with the words of the shell', limit,
	async (t) => {
		const result = await stack.sandbox(t).exec('no-such-program');

		assert.equal(result.exitCode, 127);
		assert.match(result.stderr, /not found/);
	});

test('env and cwd hold for their command only', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const value = ' two  words "q" $HOME\n=';
	const given = await sandbox.exec('pwd; printf %s "$V"',
		{ env: { V: value }, cwd: '/tmp' });

	assert.equal(given.stdout, `/tmp\n${value}`);
	const later = await sandbox.exec('pwd; printf %s "${V-unset}"');
	assert.equal(later.stdout, '/workspace\nunset');
});

test('HOME, PATH and LANG are those of the sandbox', limit, async (t) => {
	const { stdout } = await stack.sandbox(t).exec(
		'echo $HOME; echo $PATH; echo $LANG; id -un; locale charmap');

	assert.equal(stdout, '/root\n/usr/local/sbin:/usr/local/bin:' +
		'/usr/sbin:/usr/bin:/sbin:/bin\nC.UTF-8\nroot\nUTF-8\n');
});

test('a bad environment name is 400 before anything runs', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		for (const name of ['A B', '1A', 'A=B', '$(touch /tmp/p)', ''])
			await assert.rejects(
				sandbox.exec('touch /workspace/ran',
					{ env: { [name]: 'x' } }),
				{ httpStatus: 400 });
		await sandbox.exec('true');
		assert.equal((await sandbox.exists('/workspace/ran')).exists,
			false);
	});

test('a command of 1 MiB works', limit, async (t) => {
	const word = 'x'.repeat(1 << 20);
	const { stdout, exitCode } = await stack.sandbox(t).exec(
		`v='${word}'\necho \${#v}`);

	assert.equal(exitCode, 0);
	assert.equal(stdout, `${word.length}\n`);
});

test('a status tells of the service, an exit code of the program', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await assert.rejects(sandbox.getInfo(), { httpStatus: 404 });
		assert.equal((await sandbox.exec('false')).exitCode, 1);
		assert.equal((await sandbox.getInfo()).state, 'running');
	});

test('20 calls at once give 20 right answers', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const words = Array.from({ length: 20 }, (_, i) => `word ${i}`);
	const results = await Promise.all(
		words.map((word) => sandbox.exec(`echo ${word}`)));

	assert.deepEqual(results.map((result) => result.stdout),
		words.map((word) => `${word}\n`));
});

test('a long call delays no other session', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	await sandbox.exec('true');
	const stop = new AbortController();
	const long = assert.rejects(
		sandbox.exec('touch /tmp/begun; sleep 614',
			{ signal: stop.signal, sessionId: 'long' }));

	await until(5000, 'the long call', async () =>
		(await sandbox.exists('/tmp/begun')).exists);
	assert.equal((await sandbox.exec('echo hi')).stdout, 'hi\n');
	stop.abort();
	await long;
});

test('200 short commands lose nothing', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	for (let i = 0; i < 200; i += 4) {
		const results = await Promise.all([0, 1, 2, 3].map((k) =>
			sandbox.exec(`echo ok ${i + k}; exit ${(i + k) % 7}`)));
		results.forEach((result, k) => {
			assert.equal(result.stdout, `ok ${i + k}\n`);
			assert.equal(result.exitCode, (i + k) % 7);
		});
	}
});

test('a stream starts, numbers its events and completes', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const stream = await sandbox.execStream(
			'for i in 1 2 3; do echo out $i; sleep 0.1; ' +
			'echo err $i >&2; sleep 0.1; done; exit 3');
		const frames = [];

		for await (const frame of readFrames(stream))
			frames.push(frame);
		const events = frames.map((frame) => JSON.parse(frame.data));
		assert.equal(events[0].type, 'start');
		assert.match(events[0].command, /^for i/);
		assert.equal(typeof events[0].executionId, 'string');
		assert.equal(
			events.slice(1, -1).map((event) => event.data).join(''),
			'out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n');
		assert.equal(events.at(-1).type, 'complete');
		assert.equal(events.at(-1).exitCode, 3);
		assert.equal(events.at(-1).reason, 'exited');
		const ids = frames.filter((frame) => frame.id !== undefined)
			.map((frame) => Number(frame.id));
		assert.ok(ids.length >= 7);
		for (let i = 1; i < ids.length; i++)
			assert.ok(ids[i] > ids[i - 1], `ids ${ids}`);
	});

test('stream output comes as it is printed', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const stream = await sandbox.execStream(
		'for i in 1 2 3 4 5; do echo $i; sleep 0.3; done');
	const at = [];

	for await (const event of parseSSEStream(stream))
		if (event.type === 'stdout')
			at.push(performance.now());
	assert.equal(at.length, 5);
	assert.ok(at[4] - at[0] > 900, `${at[4] - at[0]} ms apart`);
});

test('a progress bar without newlines is live', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const stream = await sandbox.execStream(
		"printf '10%%\\r'; until test -e /tmp/go; do sleep 0.05; done; " +
		"printf '20%%\\r'");
	let text = '';

	for await (const event of parseSSEStream(stream)) {
		if (event.type !== 'stdout')
			continue;
		text += event.data;
		/* The second part only comes when the first was seen. */
		if (text === '10%\r')
			await sandbox.writeFile('/tmp/go', '');
	}
	assert.equal(text, '10%\r20%\r');
});

test('a character split over reads comes whole', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const command =
		"printf 'a\\342'; sleep 0.3; printf '\\202\\254b'; sleep 0.3; " +
		"printf '\\360\\237\\230'; sleep 0.3; printf '\\200'";

	assert.equal((await sandbox.exec(command)).stdout, 'a€b😀');
	const events = await eventsOf(await sandbox.execStream(command));
	assert.equal(textOf(events, 'stdout'), 'a€b😀');
});

test('an unfinished character at the end is U+FFFD', limit, async (t) => {
	const { stdout } = await stack.sandbox(t).exec("printf 'a\\342\\202'");

	assert.match(stdout, /^a\uFFFD+$/);
});

test('a live exec reports output and gives the same result', limit,
	async (t) => {
		const seen = [];
		let completed;
		const result = await stack.sandbox(t).exec(
			'echo a; sleep 0.1; echo b >&2', {
				stream: true,
				onOutput: (...args) => { seen.push(args); },
				onComplete: (value) => { completed = value; },
			});

		assert.deepEqual(seen, [['stdout', 'a\n'], ['stderr', 'b\n']]);
		assert.equal(result.stdout, 'a\n');
		assert.equal(result.stderr, 'b\n');
		assert.equal(result.success, true);
		assert.equal(completed, result);
	});

test('a stream with a timeout says so at its end', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const events = await eventsOf(await sandbox.execStream(
		'echo begin; sleep 615', { timeout: 400 }));
	const end = events.at(-1);

	assert.equal(textOf(events, 'stdout'), 'begin\n');
	assert.equal(end.reason, 'timed_out');
	assert.equal(events.filter((event) =>
		event.type === 'complete' || event.type === 'error').length, 1);
});

test('much output is counted to its last byte and never stuck', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const bytes = 24 << 20;
		const result = await within(30_000, 'the output', sandbox.exec(
			`head -c ${bytes} /dev/zero | tr '\\0' x`));

		assert.equal(result.exitCode, 0);
		if (result.truncated)
			assert.equal(result.stdoutBytes, bytes);
		else
			assert.equal(result.stdout.length, bytes);
		assert.ok(result.stdout.length > 0);
	});

test('an aborted exec is killed', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	await sandbox.exec('true');
	const stop = new AbortController();
	const running = sandbox.exec('touch /tmp/begun; exec sleep 616',
		{ signal: stop.signal });

	const refused = assert.rejects(running, { name: 'AbortError' });
	await until(5000, 'the start', async () =>
		(await sandbox.exists('/tmp/begun')).exists);
	stop.abort();
	await refused;
	await until(5000, 'its end', async () =>
		await countOf(sandbox, '616') === 0);
});

test('a stream that is left goes on by default', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const stream = await sandbox.execStream(
		'echo begun; until test -e /tmp/go; do sleep 0.05; done; ' +
		'echo done > /tmp/done');

	for await (const event of parseSSEStream(stream))
		if (event.type === 'stdout')
			break;
	/* Time in which a service that kills would have done so. */
	await pause(2500);
	await sandbox.writeFile('/tmp/go', '');
	await until(5000, 'the end of the command', async () =>
		(await sandbox.exists('/tmp/done')).exists);
});

test('merge puts both streams into one pipe, in order', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const { json } = await stack.call('POST',
		`/v1/sandboxes/${sandbox.name}/api/execute`, {
			command: 'for i in 1 2 3 4 5; do echo out $i; ' +
				'echo err $i >&2; done',
			merge: true,
		});

	assert.equal(json.stdout, [1, 2, 3, 4, 5]
		.map((i) => `out ${i}\nerr ${i}\n`).join(''));
	assert.equal(json.stderr, '');
});

test('one line of 8 MB comes whole, in every form', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const n = 8_000_000;
	const command = `head -c ${n} /dev/zero | tr '\\0' x`;

	assert.equal((await sandbox.exec(command)).stdout, 'x'.repeat(n));
	const events = await eventsOf(await sandbox.execStream(command));
	assert.equal(textOf(events, 'stdout').length, n);
	assert.equal(events.at(-1).stdoutBytes, n);
});

test('what is over the cap is counted, the program is not ended', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const { outputBytes } = (await sandbox.create()).limits;
		const bytes = outputBytes + 1_000_000;
		const result = await sandbox.exec(
			`head -c ${bytes} /dev/zero | tr '\\0' x; ` +
			'echo last >&2; exit 5');

		assert.equal(result.exitCode, 5);
		assert.equal(result.reason, 'exited');
		assert.equal(result.truncated, true);
		assert.equal(result.stdoutBytes, bytes);
		assert.equal(result.stdout.length, outputBytes);
		assert.equal(result.limits[0].name, 'outputBytes');
	});

test('HOME, PATH and LANG are the same in commands, processes and code',
	limit, async (t) => {
		const sandbox = stack.sandbox(t);
		const look = 'echo $HOME $PATH $LANG';
		const { stdout } = await sandbox.exec(look);
		const started = await sandbox.startProcess(look);
		const run = await sandbox.runCode('import os\nprint(*(' +
			'os.environ[k] for k in ("HOME", "PATH", "LANG")))');

		await started.waitForExit(10_000);
		assert.equal((await started.getLogs()).stdout, stdout);
		assert.equal(run.logs.stdout.join(''), stdout);
		assert.equal((await sandbox.exec(look,
			{ sessionId: '__DISABLE_SESSION__' })).stdout, stdout);
	});

test('ends that race with kills and signals end no service', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.exec('true');
		for (let round = 0; round < 8; round++) {
			const started = await Promise.all([0, 1, 2, 3, 4].map((i) =>
				sandbox.startProcess(`sleep 0.0${i}`)));
			await Promise.all(started.flatMap((process) => [
				process.signal('TERM'), process.kill(),
				process.signal('KILL'), process.waitForExit(10_000),
			]));
		}
		assert.equal((await sandbox.exec('echo fine')).stdout, 'fine\n');
		assert.equal((await sandbox.listProcesses({ status: 'running' }))
			.length, 0);
	});

test('a silent stream has heartbeats', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const decoder = new TextDecoder();
	let text = '';

	for await (const chunk of await sandbox.execStream('sleep 21; echo end'))
		text += decoder.decode(chunk, { stream: true });
	assert.match(text, /\n: beat\n\n/);
	assert.match(text, /"end\\n"/);
	assert.equal(text.match(/"type":"complete"/g).length, 1);
});
