/**
 * Code of the public client: behaviours 52 to 58 of its wire.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CodeInterpreter } from '@cloudflare/sandbox';

import { all, limit, useWire } from './client.mjs';

const wire = useWire();

/** The client's own interpreter on a sandbox of the test's own. */
function interpreter(t) {
	return new CodeInterpreter(wire.client(t).interpreter);
}

/** The text of a run's last result. */
function last(execution) {
	assert.equal(execution.error, undefined,
		JSON.stringify(execution.error));
	return execution.results.at(-1)?.text;
}

test('52 interpreter: contexts are made, listed and deleted', limit,
	async (t) => {
		const code = interpreter(t);
		const python = await code.createCodeContext(
			{ language: 'python' });
		const js = await code.createCodeContext(
			{ language: 'javascript', cwd: '/tmp' });
		const ids = async () => (await code.listCodeContexts())
			.map((context) => context.id);

		assert.equal(python.language, 'python');
		assert.equal(python.cwd, '/workspace');
		assert.equal(js.language, 'javascript');
		assert.equal(js.cwd, '/tmp');
		assert.ok(!Number.isNaN(python.createdAt.getTime()));
		assert.deepEqual((await ids()).sort(),
			[python.id, js.id].sort());
		await code.deleteCodeContext(python.id);
		assert.deepEqual(await ids(), [js.id]);
	});

test('53 interpreter: Python keeps its state, tells of an error and goes on',
	limit, async (t) => {
		const code = interpreter(t);
		const context = await code.createCodeContext(
			{ language: 'python' });

		await code.runCode('x = 20', { context });
		const run = await code.runCode('print("out"); x + 1',
			{ context });
		assert.equal(last(run), '21');
		assert.equal(run.logs.stdout.join(''), 'out\n');
		const failed = await code.runCode('1/0', { context });
		assert.equal(failed.error.name, 'ZeroDivisionError');
		assert.match(failed.error.message, /division by zero/);
		assert.ok(failed.error.traceback.length > 0);
		assert.equal(last(await code.runCode('x', { context })), '20');
	});

test('53 interpreter: a Python syntax error is an error', limit,
	async (t) => {
		const code = interpreter(t);
		const run = await code.runCode('def (:', { language: 'python' });

		assert.equal(run.error.name, 'SyntaxError');
		assert.equal(last(await code.runCode('1 + 1',
			{ language: 'python' })), '2');
	});

test('54 interpreter: JavaScript has state, top-level await and promises',
	limit, async (t) => {
		const code = interpreter(t);
		const context = await code.createCodeContext(
			{ language: 'javascript' });
		const value = async (text) =>
			last(await code.runCode(text, { context }));

		await code.runCode('const kept = 40; let n = 1;', { context });
		assert.equal(await value('n += 1; kept + n'), '42');
		assert.equal(await value('await Promise.resolve(7)'), '7');
		assert.equal(await value('Promise.resolve(8)'), '8');
		assert.equal(await value('(() => 9)()'), '9');
		assert.equal(await value('(async () => 10)()'), '10');
		const thrown = await code.runCode(
			'throw new TypeError("bad kind")', { context });
		assert.equal(thrown.error.name, 'TypeError');
		assert.equal(thrown.error.message, 'bad kind');
		assert.deepEqual(thrown.results, []);
		const syntax = await code.runCode('const = 1', { context });
		assert.equal(syntax.error.name, 'SyntaxError');
		assert.equal(await value('kept'), '40');
	});

test('54 interpreter: TypeScript runs', limit, async (t) => {
	const code = interpreter(t);
	const run = await code.runCode(
		'const add = (a: number, b: number): number => a + b;\n' +
		'console.log("typed"); add(1, 2)', { language: 'typescript' });

	assert.equal(last(run), '3');
	assert.equal(run.logs.stdout.join(''), 'typed\n');
});

test('55 interpreter: JavaScript reads what Python wrote', limit,
	async (t) => {
		const code = interpreter(t);

		await code.runCode('import json\n' +
			'json.dump({"n": 5}, open("/workspace/d.json", "w"))',
		{ language: 'python' });
		assert.equal(last(await code.runCode('JSON.parse(require("fs")' +
			'.readFileSync("/workspace/d.json", "utf8")).n',
		{ language: 'javascript' })), '5');
	});

test('55 interpreter: events come in order, while the code runs', limit,
	async (t) => {
		const code = interpreter(t);
		const seen = [];
		const at = [];
		const note = (what) => {
			seen.push(what);
			at.push(performance.now());
		};

		await code.createCodeContext({ language: 'python' });
		await code.runCode('import sys, time\n' +
			'print("one", flush=True)\ntime.sleep(1)\n' +
			'print("two", file=sys.stderr, flush=True)\n' +
			'time.sleep(0.2)\n3', {
			language: 'python',
			onStdout: ({ text }) => note(`out ${text}`),
			onStderr: ({ text }) => note(`err ${text}`),
			onResult: ({ text }) => note(`result ${text}`),
		});
		assert.deepEqual(seen,
			['out one\n', 'err two\n', 'result 3']);
		assert.ok(at[1] - at[0] > 700, 'live, not at the end');
		const events = await all(await code.runCodeStream(
			'print("a")\n4', { language: 'python' }));
		assert.deepEqual(events.map((event) => event.type),
			['stdout', 'result', 'execution_complete']);
		assert.ok(events.at(-1).execution_count >= 1);
	});

test('55 interpreter: rich results keep their formats', limit,
	async (t) => {
		const code = interpreter(t);
		const run = await code.runCode('import matplotlib\n' +
			'matplotlib.use("agg")\n' +
			'import matplotlib.pyplot as plt\n' +
			'import pandas as pd\n' +
			'plt.plot([1, 2, 3]); plt.show()\n' +
			'pd.DataFrame({"a": [1, 2]})', { language: 'python' });

		assert.equal(run.error, undefined);
		assert.ok(run.results.some((result) =>
			result.png?.startsWith('iVBOR')));
		assert.match(run.results.at(-1).html, /<table/);
		assert.ok(run.results.at(-1).formats().includes('html'));
	});

test('56 interpreter: contexts do not share variables', limit,
	async (t) => {
		const code = interpreter(t);
		const [a, b] = await Promise.all([1, 2].map(() =>
			code.createCodeContext({ language: 'python' })));

		await code.runCode('secret = 1', { context: a });
		const run = await code.runCode('secret', { context: b });
		assert.match(`${run.error.name}: ${run.error.message}`,
			/NameError|not defined/);
	});

test('56 interpreter: five increments at once give 1 to 5', limit,
	async (t) => {
		const code = interpreter(t);
		const context = await code.createCodeContext(
			{ language: 'javascript' });

		await code.runCode('let counter = 0;', { context });
		const runs = await Promise.all([1, 2, 3, 4, 5].map(() =>
			code.runCode('counter++; counter', { context })));
		assert.deepEqual(runs.map((run) => Number(last(run))).sort(),
			[1, 2, 3, 4, 5]);
	});

test('57 interpreter: many contexts at once are made, used and deleted',
	limit, async (t) => {
		const code = interpreter(t);
		const make = (language, count) => Promise.all(
			Array.from({ length: count }, () =>
				code.createCodeContext({ language })));

		const six = await make('javascript', 6);
		assert.equal(new Set(six.map((one) => one.id)).size, 6);
		const value = (await Promise.all(
			[make('javascript', 3), make('python', 3)])).flat();
		const runs = await Promise.all(value.map((context) =>
			code.runCode('1 + 1', { context })));
		assert.deepEqual(runs.map(last), Array(6).fill('2'));
		await Promise.all(six.slice(0, 5).map((context) =>
			code.deleteCodeContext(context.id)));
		const left = await code.listCodeContexts();
		assert.equal(left.length, 7);
	});

test('58 interpreter: a bad language and unknown contexts are errors with ' +
	'a text', limit, async (t) => {
	const { interpreter: low } = wire.client(t);
	const gone = {
		name: 'ContextNotFoundError',
		code: 'CONTEXT_NOT_FOUND',
		httpStatus: 404,
		message: /\w/,
	};

	await low.createCodeContext({ language: 'python' });
	await assert.rejects(low.createCodeContext({ language: 'cobol' }),
		(error) => {
			assert.ok(error.httpStatus >= 400);
			assert.match(error.message, /\w/);
			return true;
		});
	await assert.rejects(low.runCodeStream('no-such', '1', 'python', {}),
		gone);
	await assert.rejects(low.deleteCodeContext('no-such'), gone);
});

test('58 interpreter: a run\'s timeout is told, and the context can be used',
	limit, async (t) => {
		const { interpreter: low } = wire.client(t);
		const context = await low.createCodeContext(
			{ language: 'python' });
		let error;

		await low.runCodeStream(context.id, 'while True: pass', 'python',
			{ onError: (told) => { error = told; } }, 1000);
		assert.ok(error !== undefined);
		const code = new CodeInterpreter(low);
		assert.equal(last(await code.runCode('6 * 7', { context })), '42');
	});
