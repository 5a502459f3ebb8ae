/**
 * What clients send wrong, and what breaks under them: always an answer,
 * always in the one error shape, and the next call works.
 */
import assert from 'node:assert/strict';
import net from 'node:net';
import os from 'node:os';
import { test } from 'node:test';

import { parseSSEStream } from '../../clients/js/index.js';
import { keepersOf } from './lib/hostproc.mjs';
import { addressOf } from './lib/http.mjs';
import {
	open, uniqueName, until, useStack, within,
} from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };
const GONE_MS = 2000;
const notRoot = process.getuid() !== 0 &&
	'needs root to find and kill a keeper';

/** Checks the error shape; returns the error. */
function refused(answer, status, code) {
	const { json, headers } = answer;

	assert.equal(answer.status, status, answer.text.slice(0, 500));
	assert.match(headers['content-type'], /^application\/json/);
	assert.equal(typeof json.code, 'string');
	assert.match(json.code, /^[A-Z_]+$/);
	assert.equal(typeof json.message, 'string');
	assert.notEqual(json.message, '');
	assert.equal(typeof json.context, 'object');
	assert.equal(json.httpStatus, status);
	assert.match(json.timestamp,
		/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
	assert.equal(json.requestId, headers['x-request-id']);
	assert.doesNotMatch(answer.text,
		/\.c:\d|\/var\/lib|\/run\/warren|sqlite|errno/i);
	for (const own of [stack.data, os.hostname()])
		assert.ok(!own || !answer.text.includes(own), answer.text);
	if (code !== undefined)
		assert.equal(json.code, code);
	return json;
}

const api = (name, route) => `/v1/sandboxes/${name}/api/${route}`;

/** A call in a sandbox that is made on the way. */
async function inSandbox(t) {
	const sandbox = stack.sandbox(t);

	await sandbox.exec('true');
	return {
		sandbox,
		post: (route, body) =>
			stack.call('POST', api(sandbox.name, route), body),
	};
}

test('without a known key everything is 401', limit, async () => {
	const good = stack.apiKey;
	const keys = [
		undefined, '', 'Bearer', 'Bearer ', `Basic ${good}`,
		'Bearer wrn_aaaaaaaa_' + 'a'.repeat(43),
		`Bearer ${good.slice(0, -1)}`, `Bearer ${good}x`,
		`Bearer ${good.slice(0, 13)}`, 'Bearer ' + 'x'.repeat(4000),
	];

	for (const key of keys)
		for (const path of ['/v1/sandboxes', '/v1/sandboxes/x',
			api('x', 'process/list')])
			refused(await stack.call('GET', path, undefined, {
				headers: { Authorization: key ?? [] },
			}), 401, 'UNAUTHORIZED');
});

test('an unknown sandbox and a foreign one are the same 404', limit,
	async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		const theirs = stack.sandbox(t,
			{ apiKey: await stack.newTenant() });
		await theirs.exec('true');
		const { id } = await theirs.getInfo();
		const unknown = id.slice(0, -4) + 'aaaa';

		for (const route of ['', '/api/process/list', '/api/ports',
			'/api/contexts']) {
			const [foreign, none] = await Promise.all(
				[id, unknown].map((name) => stack.call('GET',
					`/v1/sandboxes/${name}${route}`)));
			/* The name that was asked for comes back. */
			const a = refused({ ...foreign,
				text: foreign.text.replaceAll(id, '') }, 404);
			const b = refused({ ...none,
				text: none.text.replaceAll(unknown, '') }, 404);
			assert.equal(a.code, b.code);
			assert.equal(a.message.replaceAll(id, ''),
				b.message.replaceAll(unknown, ''));
		}
	});

test('broken JSON is 400', limit, async (t) => {
	const { post } = await inSandbox(t);
	const bodies = [
		'', '{', 'null', '[]', '"x"', '7', '{"command":"true"',
		'{"command":"true"} x', "{'command':'true'}",
		'{"command":"true",}', '{"command":"true","timeoutMs":NaN}',
		'{"command":"a\nb"}', '{"command":"true","command":"false"}',
		'{"command":"a\\u0000b"}', '{"command":"\\ud800"}',
		Buffer.from('{"command":"a\xff"}', 'latin1'),
		'['.repeat(100_000),
		'{"a":'.repeat(10_000),
	];

	for (const body of bodies)
		refused(await post('execute', body), 400);
});

test('wrong types are 400 and name the field', limit, async (t) => {
	const { post } = await inSandbox(t);
	const cases = [
		['execute', {}, 'command'],
		['execute', { command: 7 }, 'command'],
		['execute', { command: null }, 'command'],
		['execute', { command: ['ls'] }, 'command'],
		['execute', { command: 'true', timeoutMs: 'x' }, 'timeoutMs'],
		['execute', { command: 'true', timeoutMs: -1 }, 'timeoutMs'],
		['execute', { command: 'true', timeoutMs: 1e30 }, 'timeoutMs'],
		['execute', { command: 'true', env: [] }, 'env'],
		['execute', { command: 'true', env: { A: 1 } }, 'env'],
		['execute', { command: 'true', cwd: 5 }, 'cwd'],
		['execute/stream', { command: {} }, 'command'],
		['process/start', { command: 1 }, 'command'],
		['process/start', { command: 'true', processId: 1 },
			'processId'],
		['write', { path: 1, content: '' }, 'path'],
		['write', { path: 'a' }, 'content'],
		['write', { path: 'a', content: {} }, 'content'],
		['read', {}, 'path'],
		['read', { path: '' }, 'path'],
		['mkdir', { path: 'a', recursive: 'yes' }, 'recursive'],
		['rename', { oldPath: 'a' }, 'newPath'],
		['move', { sourcePath: 'a' }, 'destinationPath'],
		['exists', { path: [] }, 'path'],
		['contexts', { language: 1 }, 'language'],
		['contexts', { env_vars: 'x' }, 'env_vars'],
		['execute/code', { context_id: 1, code: '' }, 'context_id'],
		['execute/code', { stdin: 1, code: '' }, 'stdin'],
		['execute/code', { code: '', timeout_ms: -1 }, 'timeout_ms'],
		['execute/code', { code: '', timeoutMs: 1e30 }, 'timeoutMs'],
		['ports', { port: 'x' }, 'port'],
		['ports', {}, 'port'],
	];

	for (const [route, body, field] of cases) {
		const error = refused(await post(route, body), 400);
		assert.ok(error.message.includes(field) ||
			JSON.stringify(error.context).includes(field),
			`${route} ${JSON.stringify(body)}: ${error.message}`);
	}
});

test('an unknown language is 400', limit, async (t) => {
	const { post } = await inSandbox(t);

	for (const language of ['cobol', '', 'Python ', '../python'])
		refused(await post('contexts', { language }), 400);
});

test('an unknown context is 404', limit, async (t) => {
	const { sandbox, post } = await inSandbox(t);

	refused(await post('execute/code',
		{ context_id: 'none', code: '1' }), 404, 'CONTEXT_NOT_FOUND');
	refused(await stack.call('DELETE',
		api(sandbox.name, 'contexts/none')), 404, 'CONTEXT_NOT_FOUND');
});

test('a body over the limit is 413', limit, async (t) => {
	const { sandbox, post } = await inSandbox(t);
	const big = 'x'.repeat(80 << 10);

	refused(await stack.call('POST', '/v1/sandboxes', { name: big }), 413);
	refused(await post('ports', { port: 8000, name: big }), 413);
	/* Chunked: no length is told before. */
	refused(await stack.call('POST', api(sandbox.name, 'ports'),
		JSON.stringify({ port: 8000, name: big }),
		{ headers: { 'Transfer-Encoding': 'chunked' } }), 413);
});

/** Writes ${text} to the service; what comes back until it closes. */
function rawExchange(text) {
	const { host, port } = addressOf(stack.url);

	return new Promise((resolve, reject) => {
		const socket = net.connect(port, host, () => socket.write(text));
		let answer = '';
		socket.on('data', (chunk) => { answer += chunk; });
		socket.on('error', reject);
		socket.on('close', () => resolve(answer));
	});
}

const head = (method, path, ...lines) => [
	`${method} ${path} HTTP/1.1`,
	`Host: ${new URL(stack.url).host}`,
	`Authorization: Bearer ${stack.apiKey}`,
	'Connection: close', ...lines, '', '',
].join('\r\n');

test('a body that nginx itself refuses has the error shape', limit,
	async () => {
		const text = await within(10_000, 'the answer', rawExchange(
			head('POST', '/v1/sandboxes',
				'Content-Type: application/json',
				'Content-Length: 1099511627776')));
		const [headers, body] = text.split('\r\n\r\n');

		assert.match(headers, /^HTTP\/1\.1 413 /);
		const error = JSON.parse(body);
		assert.equal(error.httpStatus, 413);
		assert.equal(typeof error.code, 'string');
		assert.equal(typeof error.message, 'string');
	});

test('half a request harms nobody', limit, async (t) => {
	const { sandbox } = await inSandbox(t);
	const { host, port } = addressOf(stack.url);
	const text = head('POST', api(sandbox.name, 'execute'),
		'Content-Type: application/json', 'Content-Length: 1000') +
		'{"command":"tou';

	for (let length = 1; length < text.length; length += 37) {
		const socket = net.connect(port, host);
		await new Promise((resolve) => {
			socket.on('error', resolve);
			socket.on('close', resolve);
			socket.on('connect', () => socket.write(
				text.slice(0, length),
				() => socket.destroy()));
		});
	}
	assert.equal((await sandbox.exec('echo ok')).stdout, 'ok\n');
});

test('a path with NUL, too long or empty is 400', limit, async (t) => {
	const { post } = await inSandbox(t);
	const paths = ['a\0b', '\0', '/tmp/\0', '', 'x'.repeat(5000)];
	const calls = [
		(path) => ['read', { path }],
		(path) => ['write', { path, content: 'x' }],
		(path) => ['delete', { path }],
		(path) => ['mkdir', { path }],
		(path) => ['list-files', { path }],
		(path) => ['exists', { path }],
		(path) => ['rename', { oldPath: path, newPath: 'b' }],
		(path) => ['rename', { oldPath: 'b', newPath: path }],
		(path) => ['move', { sourcePath: 'b', destinationPath: path }],
		(path) => ['execute', { command: 'true', cwd: path }],
	];

	for (const path of paths)
		for (const call of calls) {
			const [route, body] = call(path);
			if (route === 'execute' && path === '')
				continue;
			refused(await post(route, body), 400);
		}
});

test('bad sandbox names are refused', limit, async () => {
	for (const name of ['', '.', '..', 'a/b', 'a\0b', 'a b', '../../x',
		'x'.repeat(300)])
		refused(await stack.call('POST', '/v1/sandboxes', { name }),
			400);
	for (const path of ['a%00b', '%2e%2e', 'x'.repeat(300), '%ff', 'a%2Fb']) {
		const answer = await stack.call('POST',
			api(path, 'execute'), { command: 'true' });
		assert.ok(answer.status === 400 || answer.status === 404);
		refused(answer, answer.status);
	}
});

test('an unknown route is 404, a wrong method 405', limit, async (t) => {
	const { sandbox } = await inSandbox(t);

	for (const path of ['/v1', '/v1/none', api(sandbox.name, 'none'),
		'/v2/sandboxes'])
		refused(await stack.call('GET', path), 404, 'NOT_FOUND');
	refused(await stack.call('PUT', '/v1/sandboxes', {}), 405,
		'METHOD_NOT_ALLOWED');
});

test('git refuses bad addresses before anything runs', limit, async (t) => {
	const { sandbox, post } = await inSandbox(t);

	refused(await post('git/checkout', { repoUrl: '' }), 400);
	for (const repoUrl of ['-u', '--upload-pack=touch /tmp/p',
		'ext::sh -c "touch /tmp/p"', 'file:///etc', 'a\nb']) {
		const answer = await post('git/checkout', { repoUrl });
		assert.ok(answer.status >= 400, repoUrl);
		refused(answer, answer.status);
	}
	assert.equal((await sandbox.exists('/tmp/p')).exists, false);
});

/** How many processes in the sandbox run sleep ${seconds}. */
async function sleepers(sandbox, seconds) {
	const { stdout } = await sandbox.exec(
		'for f in /proc/[0-9]*/cmdline; do ' +
		'tr "\\0" " " < $f 2>/dev/null; echo; done; true');

	return stdout.split('\n')
		.filter((line) => line === `sleep ${seconds} `).length;
}

test('a client that disconnects ends its execution', limit, async (t) => {
	const { sandbox } = await inSandbox(t);
	const response = open(stack.url + api(sandbox.name, 'execute'), {
		method: 'POST',
		headers: {
			Authorization: `Bearer ${stack.apiKey}`,
			'Content-Type': 'application/json',
		},
		body: JSON.stringify({
			command: 'setsid sleep 711 & sleep 711',
			sessionId: 'first',
		}),
		signal: t.signal,
	});
	const stop = new AbortController();
	const left = sandbox.exec('sleep 712',
		{ signal: stop.signal, sessionId: 'second' });

	response.catch(() => {});
	left.catch(() => {});
	await until(5000, 'both commands', async () =>
		await sleepers(sandbox, 711) === 2 &&
		await sleepers(sandbox, 712) === 1);
	stop.abort();
	await until(5000, 'the end of the second', async () =>
		await sleepers(sandbox, 712) === 0);
	assert.equal(await sleepers(sandbox, 711), 2, 'the first goes on');
});

test('a client that leaves a code run interrupts it', limit, async (t) => {
	const { sandbox } = await inSandbox(t);
	const context = await sandbox.createCodeContext();
	const stop = new AbortController();
	const run = sandbox.runCode(
		'kept = 1\nprint("begun", flush=True)\nwhile True: pass',
		{ context, signal: stop.signal, onStdout: () => stop.abort() });

	await assert.rejects(run);
	const value = await within(15_000, 'the next run',
		sandbox.runCode('1 + 1', { context }));
	assert.equal(value.results[0].text, '2');
});

test('a kernel that exits ends its run, and the next run works', limit,
	async (t) => {
		const { sandbox } = await inSandbox(t);
		const exits = {
			python: 'import os\nprint("last words", flush=True)\n' +
				'os._exit(1)',
			javascript: 'console.log("last words"); process.exit(1)',
		};

		for (const [language, code] of Object.entries(exits)) {
			const context = await sandbox.createCodeContext(
				{ language });
			await sandbox.runCode('x = 1', { context });
			const value = await within(GONE_MS, `${language}'s end`,
				sandbox.runCode(code, { context }));
			assert.equal(value.state, 'lost');
			assert.match(value.logs.stdout.join(''), /last words/);
			const next = await sandbox.runCode('40 + 2',
				{ context });
			assert.equal(next.results[0].text, '42');
			assert.equal(next.state, 'kept');
		}
	});

test('a kernel killed from outside ends its run', limit, async (t) => {
	const { sandbox } = await inSandbox(t);
	const context = await sandbox.createCodeContext();
	const run = sandbox.runCode('import os, time\n' +
		'open("/tmp/pid", "w").write(str(os.getpid()))\n' +
		'time.sleep(600)', { context });

	await until(10_000, 'the pid', async () =>
		(await sandbox.exists('/tmp/pid')).exists);
	await sandbox.exec('kill -9 $(cat /tmp/pid)');
	const value = await within(GONE_MS, 'the end', run);
	assert.equal(value.state, 'lost');
	assert.equal(value.reason, 'signalled');
});

/** Events of ${stream} and when, after ${start}, the last one came. */
async function follow(stream) {
	const events = [];

	for await (const event of parseSSEStream(stream))
		events.push({ ...event, at: performance.now() });
	return events;
}

test('a killed keeper gives every reader an ending, and life goes on',
	{ timeout: 60_000, skip: notRoot }, async (t) => {
		const { sandbox } = await inSandbox(t);
		await sandbox.writeFile('/workspace/kept.txt', 'kept');
		const context = await sandbox.createCodeContext();
		const server = await sandbox.startProcess('sleep 600');
		const { id } = await sandbox.getInfo();
		const [keeper, ...more] = keepersOf(id);
		assert.deepEqual(more, []);

		const command = follow(
			await sandbox.execStream('echo begun; sleep 600',
				{ sessionId: 'stream' }));
		const log = follow(await sandbox.streamProcessLogs(server.id));
		const run = sandbox.runCodeStream('import time\n' +
			'open("/tmp/begun", "w").close()\ntime.sleep(600)',
			{ context }).then(follow);
		const plain = assert.rejects(sandbox.exec(
			'touch /tmp/plain; sleep 600', { sessionId: 'plain' }),
		(error) => {
			assert.ok(error.httpStatus >= 500);
			assert.equal(error.code, 'SANDBOX_GONE');
			return true;
		});
		await until(10_000, 'all four', async () =>
			(await sandbox.exists('/tmp/begun')).exists &&
			(await sandbox.exists('/tmp/plain')).exists);

		process.kill(keeper, 'SIGKILL');
		const [ofCommand, ofLog, ofRun] = await within(GONE_MS,
			'all endings', Promise.all([command, log, run, plain]));
		for (const [what, events, type] of [
			['command', ofCommand, 'error'],
			['log', ofLog, 'exit'],
			['run', ofRun, 'execution_complete'],
		]) {
			const end = events.at(-1);
			assert.equal(end.type, type, what);
			assert.equal(end.reason, 'sandbox_gone', what);
		}
		assert.equal((await sandbox.exec('cat kept.txt')).stdout,
			'kept');
		const after = await sandbox.getProcess(server.id);
		assert.equal(after.status, 'error');
		assert.equal(after.reason, 'sandbox_gone');
		const next = await sandbox.runCode('1 + 1', { context });
		assert.equal(next.results[0].text, '2');
	});

test('a keeper killed between calls is not noticed by the next', {
	timeout: 60_000, skip: notRoot,
}, async (t) => {
	const { sandbox } = await inSandbox(t);
	const { id } = await sandbox.getInfo();

	for (let i = 0; i < 3; i++) {
		const keeper = await until(5000, 'one keeper', () => {
			const found = keepersOf(id);
			return found.length === 1 && found[0];
		});
		process.kill(keeper, 'SIGKILL');
		assert.equal((await sandbox.exec('echo back')).stdout,
			'back\n');
	}
});

test('a call that was asked of a keeper that ends runs in the next one', {
	timeout: 60_000, skip: notRoot,
}, async (t) => {
	if (stack.noOperator)
		return t.skip(stack.noOperator);
	const { sandbox } = await inSandbox(t);
	const { id } = await sandbox.getInfo();
	const state = async () => /running|ended/.exec(await stack.warren('sql',
		`SELECT state FROM executions WHERE sandbox_id = '${id}' ` +
		"AND command LIKE 'touch began;%'"))?.[0];
	const [keeper] = keepersOf(id);

	process.kill(keeper, 'SIGSTOP');
	const call = sandbox.exec(
		'touch began; until test -e go; do sleep 0.05; done; echo done',
		{ sessionId: '__DISABLE_SESSION__' });
	try {
		/* While the keeper says nothing its row is stored. */
		await until(10_000, 'the row', async () =>
			await state() === 'running');
	} finally {
		process.kill(keeper, 'SIGKILL');
	}
	await until(20_000, 'the start', async () =>
		(await sandbox.exists('/workspace/began')).exists);
	assert.equal(await state(), 'running');
	await sandbox.writeFile('/workspace/go', '');
	assert.equal((await call).stdout, 'done\n');
});

test('deleting a sandbox ends its calls and frees its name', limit,
	async (t) => {
		const name = uniqueName();
		const sandbox = stack.sandbox(t, { name });
		const events = follow(
			await sandbox.execStream('echo begun; sleep 600'));
		const { id } = await sandbox.getInfo();

		await sandbox.writeFile('old.txt', 'x');
		await sandbox.destroy();
		const end = (await within(5000, 'the ending', events)).at(-1);
		assert.equal(end.reason, 'sandbox_gone');
		await assert.rejects(sandbox.getInfo(), { httpStatus: 404 });
		await assert.rejects(sandbox.destroy(), { httpStatus: 404 });
		assert.equal((await sandbox.exec('ls')).stdout, '');
		assert.notEqual((await sandbox.getInfo()).id, id);
	});
