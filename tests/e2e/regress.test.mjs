/**
 * What once went wrong for a user, as the case that failed.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseSSEStream } from '../../clients/js/index.js';
import { keepersOf } from './lib/hostproc.mjs';
import { until, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 120_000 };
const MIB = 1 << 20;

/* ---- strays ---- */

test('kill-all ends a fork bomb that outlived its command', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.create({ limits: { pids: 64 } });
		await sandbox.exec(':(){ :|:& };:').catch(() => undefined);
		const full = await until(20_000, 'a full sandbox', async () => {
			try {
				await sandbox.exec('true');
				return undefined;
			} catch (error) {
				return error;
			}
		});
		assert.equal(full.httpStatus, 429);
		assert.equal(full.code, 'LIMIT_EXCEEDED');
		assert.equal(full.context.name, 'pids');
		assert.equal(full.context.limit, 64);
		assert.ok(full.context.used > 32, `${full.context.used}`);
		assert.match(full.suggestion, /kill-all/);
		assert.ok(await sandbox.killAllProcesses() >= 1);
		await sandbox.writeFile('after', 'works');
		assert.equal((await sandbox.readFile('after')).content, 'works');
		assert.equal((await sandbox.exec('echo fine')).stdout, 'fine\n');
	});

test('kill-all ends what a command left in the background', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const { stdout } = await sandbox.exec(
			'setsid sleep 1000 >/dev/null 2>&1 & echo $!');

		assert.equal(await sandbox.killAllProcesses(), 1);
		const { exitCode } = await sandbox.exec(`kill -0 ${stdout}`);
		assert.notEqual(exitCode, 0);
		assert.equal(await sandbox.killAllProcesses(), 0);
	});

/* ---- truncated ---- */

/** The operator's one number. */
async function number(sql) {
	return Number(/\n(\d+)\n/.exec(await stack.warren('sql', sql))[1]);
}

async function settled(sandbox, table, id) {
	const { id: box } = await sandbox.getInfo();
	const where = `sandbox_id = '${box}' AND id = '${id}'`;

	await until(10_000, 'a recorded end', async () => await number(
		`SELECT ended_at FROM ${table} WHERE ${where}`) > 0);
	return (column) => number(
		`SELECT ${column} FROM ${table} WHERE ${where}`);
}

test('output of 6 MiB that arrives whole is not truncated', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const result = await sandbox.exec(
			`head -c ${6 * MIB} /dev/zero | tr '\\0' x`);

		assert.equal(result.stdout.length, 6 * MIB);
		assert.equal(result.stdoutBytes, 6 * MIB);
		assert.equal(result.truncated, undefined);
		if (stack.noOperator)
			return;
		const column = await settled(
			sandbox, 'executions', result.executionId);
		assert.equal(await column('dropped_bytes'), 0);
	});

test('a process\' log without its beginning says so, and how much', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		await sandbox.create({ limits: { processLogBytes: 8 * MIB } });
		const process = await sandbox.startProcess(
			`head -c ${20 * MIB} /dev/zero | tr '\\0' x`);

		await process.waitForExit(60_000);
		const logs = await until(10_000, 'the end of the log', async () => {
			const now = await process.getLogs();
			return now.stdout.length < 9 * MIB && now;
		});
		assert.equal(logs.truncated, true);
		assert.equal(logs.droppedBytes, 20 * MIB - logs.stdout.length);
		const whole = await sandbox.startProcess('echo all');
		await whole.waitForExit(60_000);
		const { truncated, droppedBytes } = await whole.getLogs();
		assert.deepEqual({ truncated, droppedBytes },
			{ truncated: false, droppedBytes: 0 });
		if (stack.noOperator)
			return;
		const column = await settled(sandbox, 'processes', process.id);
		assert.equal(await column('stdout_bytes'), 20 * MIB);
		const stored = await number('SELECT sum(length(data)) FROM ' +
			`process_logs WHERE process = '${process.id}'`);
		assert.equal(await column('dropped_bytes'), 20 * MIB - stored);
	});

/* ---- audit ---- */

test('the audit tells of sandboxes that calls made, and that are gone', limit,
	async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		const implicit = stack.sandbox(t);
		const explicit = stack.sandbox(t);
		const ids = {};

		await implicit.exec('true');
		await explicit.create({});
		for (const sandbox of [implicit, explicit]) {
			ids[sandbox.name] = (await sandbox.getInfo()).id;
			await sandbox.exec('true');
			await sandbox.destroy();
			const rows = await stack.warren('sql', 'SELECT tenant, ' +
				'action, target, name FROM audit WHERE ' +
				`name = '${sandbox.name}' ORDER BY at, action`);
			assert.deepEqual(rows.trim().split('\n').slice(1, 3), [
				['sandbox.create'], ['sandbox.delete'],
			].map(([action]) => ['default', action,
				ids[sandbox.name], sandbox.name].join('\t')));
		}
	});

/* ---- pages of other origins ---- */

test('a page of any origin may call, with its key in a header', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const path = `/v1/sandboxes/${sandbox.name}/api/execute`;
		const origin = { Origin: 'https://app.example' };
		const asked = await fetch(stack.url + path, {
			method: 'OPTIONS',
			headers: {
				...origin,
				'Access-Control-Request-Method': 'POST',
				'Access-Control-Request-Headers':
					'authorization,content-type',
			},
		});

		assert.equal(asked.status, 204);
		assert.equal(await asked.text(), '');
		assert.equal(
			asked.headers.get('access-control-allow-origin'), '*');
		assert.match(
			asked.headers.get('access-control-allow-methods'), /\bPOST\b/);
		const allowed = asked.headers.get('access-control-allow-headers')
			.toLowerCase().split(', ');
		for (const name of ['authorization', 'content-type',
			'last-event-id', 'idempotency-key', 'x-session-id',
			'x-warren-compat'])
			assert.ok(allowed.includes(name), name);
		/* A key is all that counts: no cookies. */
		assert.equal(
			asked.headers.get('access-control-allow-credentials'), null);
		const cases = [
			['POST', path, { command: 'true' }, 200],
			['POST', path, {}, 400],
			['GET', '/v1/nowhere', undefined, 404],
			['GET', '/nowhere', undefined, 404],
		];
		for (const [method, where, body, status] of cases) {
			const answer = await stack.call(
				method, where, body, { headers: origin });
			assert.equal(answer.status, status, where);
			assert.equal(
				answer.headers['access-control-allow-origin'], '*');
			assert.match(
				answer.headers['access-control-expose-headers'],
				/X-Request-Id/);
		}
		const nowhere = await fetch(`${stack.url}/v1/nowhere`,
			{ method: 'OPTIONS', headers: origin });
		assert.equal(nowhere.status, 404);
	});

/* ---- processes ---- */

test('the id of a process that ended can be taken again', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const processId = 'server';

		for (const word of ['first', 'second', 'third']) {
			const started = await sandbox.startProcess(
				`echo ${word}`, { processId });
			await started.waitForExit(60_000);
			const { stdout } = await started.getLogs();
			assert.equal(stdout, `${word}\n`);
		}
		const lasting = await sandbox.startProcess(
			'sleep 1000', { processId });
		await assert.rejects(
			sandbox.startProcess('true', { processId }),
			{ code: 'PROCESS_ALREADY_EXISTS' });
		await lasting.kill();
		const last = await sandbox.startProcess(
			'echo last', { processId });
		await last.waitForExit(60_000);
		const rows = await sandbox.listProcesses();
		assert.deepEqual(rows.map(({ id }) => id), [processId]);
		assert.equal(rows[0].reason, 'exited');
	});

test('no process of a keeper that was killed is told to run', limit,
	async (t) => {
		if (process.getuid() !== 0)
			return t.skip('needs root to find and kill a keeper');
		const sandbox = stack.sandbox(t);
		const { id } = await sandbox.create({});

		for (let i = 0; i < 3; i++) {
			const { id: name } = await sandbox.startProcess('sleep 1000');
			const [keeper] = keepersOf(id);
			process.kill(keeper, 'SIGKILL');
			/* A new keeper, at once. */
			await sandbox.exec('true').catch(() => undefined);
			const row = await sandbox.getProcess(name);
			assert.equal(row.status, 'error');
			assert.equal(row.reason, 'sandbox_gone');
			const running = await sandbox.listProcesses(
				{ status: 'running' });
			assert.deepEqual(running, []);
		}
	});

/* ---- what is told of a refusal ---- */

test('a refusal is a plain sentence that names what is wrong', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const path = `/v1/sandboxes/${sandbox.name}/api`;
		const cases = [
			['{', 'The body is not valid JSON'],
			[{}, 'command is needed'],
			[{ command: 'true', stdin: 5 }, 'stdin must be a text'],
			[{ command: 'true', env: { '': 'x' } },
				'env has a variable without a name'],
			[{ command: 'true', env: { 'A-B': 'x' } },
				'env.A-B is not a variable\'s name'],
		];

		for (const [body, message] of cases) {
			const answer = await stack.call(
				'POST', `${path}/execute`, body);
			assert.equal(answer.status, 400, message);
			assert.equal(answer.json.message, message);
		}
		await assert.rejects(sandbox.exec('cat', { stdin: 5 }), (error) =>
			error.httpStatus === 400 &&
			error.context.validationErrors[0].field === 'stdin');
	});

test('refusals of contexts and code have their text as error, too', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const path = `/v1/sandboxes/${sandbox.name}/api`;

		await sandbox.exec('true');
		for (const [method, where, body, status] of [
			['POST', '/contexts', { language: 'cobol' }, 400],
			['DELETE', '/contexts/none', undefined, 404],
			['POST', '/execute/code', { code: '1', context_id: 'none' },
				404],
		]) {
			const { json, ...answer } = await stack.call(
				method, path + where, body);
			assert.equal(answer.status, status, where);
			assert.equal(json.error, json.message);
		}
	});

test('contexts are interrupted and restarted by the client', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const context = await sandbox.createCodeContext();

		await sandbox.runCode('x = 1', { context });
		const run = sandbox.runCode(
			'print("on", flush=True)\nimport time; time.sleep(100)',
			{ context, onStdout: async () => {
				const { state } = await sandbox
					.interruptCodeContext(context.id);
				assert.equal(state, 'kept');
			} });
		assert.equal((await run).error.name, 'KeyboardInterrupt');
		await sandbox.restartCodeContext(context.id);
		const { error } = await sandbox.runCode('x', { context });
		assert.equal(error.name, 'NameError');
	});

test('a file too large for one answer is read as a stream', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const written = 62 * MIB;
		const size = written + 3 * MIB;

		/* What one call can write, one call can read. */
		await sandbox.writeFile('big', 'x'.repeat(written));
		const { content } = await sandbox.readFile('big');
		assert.ok(content === 'x'.repeat(written));
		await sandbox.exec('head -c 3M big >more; cat more >>big');
		await assert.rejects(sandbox.readFile('big'), (error) =>
			error.code === 'FILE_TOO_LARGE' &&
			/files\.get/.test(error.suggestion));
		let read = 0;
		const types = new Set();
		for await (const event of parseSSEStream(
			await sandbox.readFileStream('big'))) {
			types.add(event.type);
			read += event.data?.length ?? 0;
		}
		assert.equal(read, size);
		assert.deepEqual([...types], ['metadata', 'chunk', 'complete']);
	});
