/**
 * The examples of the announcement, each one unchanged in meaning.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseSSEStream } from '../../clients/js/index.js';
import {
	fetchRaw, guest, until, uniqueName, useStack, within,
} from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };
const output = (execution) => execution.logs.stdout.join('');

test('1: contexts take cwd and envVars in three languages', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const cells = {
			python: 'import os\n' +
				'print(os.getcwd(), os.environ["GREETING"])',
			javascript:
				'console.log(process.cwd(), process.env.GREETING)',
			typescript: 'const where: string = process.cwd();\n' +
				'console.log(where, process.env.GREETING as string)',
		};

		await sandbox.mkdir('/workspace/app');
		for (const [language, cell] of Object.entries(cells)) {
			const context = await sandbox.createCodeContext({
				language,
				cwd: '/workspace/app',
				envVars: { GREETING: `hello ${language}` },
			});
			assert.equal(context.language, language);
			const run = await sandbox.runCode(cell, { context });
			assert.equal(run.error, undefined);
			assert.equal(output(run),
				`/workspace/app hello ${language}\n`);
		}
	});

test('2: runCode prints Hello World', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const context = await sandbox.createCodeContext({ language: 'python' });
	const run = await sandbox.runCode('print("Hello World")', { context });

	assert.equal(output(run), 'Hello World\n');
	assert.equal(run.error, undefined);
	assert.equal(run.reason, 'exited');
	assert.equal(run.executionCount, 1);
});

test('3: output arrives while the code runs', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const context = await sandbox.createCodeContext({ language: 'python' });
	const cell = 'import time\n' +
		'for i in range(5):\n' +
		'    print(f"step {i}")\n' +
		'    time.sleep(1)\n' +
		'"done"';
	const at = [];
	const results = [];
	const start = performance.now();

	await sandbox.runCode(cell, {
		context,
		onStdout: () => { at.push(performance.now() - start); },
		onResult: (result) => { results.push(result); },
	});
	const end = performance.now() - start;
	assert.equal(at.length, 5);
	/* Not all at the end: a second lies between each two, one is last. */
	assert.ok(at[4] - at[0] > 2000, `within ${at[4] - at[0]} ms`);
	assert.ok(end - at[0] > 3000, `${end - at[0]} ms before the end`);
	assert.equal(results.length, 1);
	assert.equal(results[0].text, "'done'");
});

test('4: runCodeStream gives events in order and one ending', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const stream = await sandbox.runCodeStream(
			'import time; [print(i) for i in range(10)]',
			{ language: 'python' });
		const events = [];

		for await (const event of parseSSEStream(stream))
			events.push(event);
		const types = events.map((event) => event.type);
		assert.equal(events.filter((e) => e.type === 'stdout')
			.map((e) => e.text).join(''),
			'0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n');
		const result = events.find((e) => e.type === 'result');
		assert.match(result.text, /^\[(None, ){9}None\]$/);
		assert.ok(types.lastIndexOf('stdout') <
			types.indexOf('result'));
		assert.equal(types.at(-1), 'execution_complete');
		assert.equal(types.indexOf('execution_complete'),
			types.length - 1);
	});

const HEATMAP = `
import pandas as pd
import seaborn as sns
import matplotlib.pyplot as plt

months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun",
          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
flights = pd.DataFrame([
    {"year": year, "month": month, "passengers": 100 + 3 * i + year % 100}
    for year in range(1949, 1961)
    for i, month in enumerate(months)
])
pivot = flights.pivot(index="month", columns="year", values="passengers")
sns.heatmap(pivot, annot=True, fmt="d")
plt.title("Flight passengers")
plt.show()
pivot.to_dict()
`;

test('5: a heatmap is a picture and its table a value', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const context = await sandbox.createCodeContext({ language: 'python' });
	const run = await sandbox.runCode(HEATMAP, { context });

	assert.equal(run.error, undefined);
	const pictures = run.results.filter((r) => r.png !== undefined);
	assert.equal(pictures.length, 1);
	const png = Buffer.from(pictures[0].png, 'base64');
	assert.equal(png.subarray(0, 4).toString('hex'), '89504e47');
	assert.ok(png.length > 5000);
	const value = run.results.at(-1);
	assert.ok(value.json !== undefined || value.text !== undefined);
	if (value.json !== undefined)
		assert.equal(value.json['1949'].Jan, 149);
	if (value.text !== undefined)
		assert.match(value.text, /1949: \{.*'Jan': 149/s);
});

test('5: a DataFrame is HTML and a line plot is chart data', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const context = await sandbox.createCodeContext();
		const frame = await sandbox.runCode('import pandas as pd\n' +
			'pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})',
			{ context });

		assert.match(frame.results[0].html, /<table[\s\S]*<\/table>/);
		assert.match(frame.results[0].text, /a\s+b/);
		const plot = await sandbox.runCode(
			'import matplotlib.pyplot as plt\n' +
			'plt.plot([1, 2, 3], [2, 4, 9], label="growth")\n' +
			'plt.xlabel("time")\n' +
			'plt.title("A line")\n' +
			'plt.show()', { context });
		const { chart, png } =
			plot.results.find((r) => r.chart !== undefined);
		assert.ok(png.length > 0);
		assert.equal(chart.type, 'line');
		assert.equal(chart.title, 'A line');
		assert.equal(chart.x.label, 'time');
		assert.equal(chart.elements[0].label, 'growth');
		assert.deepEqual(chart.elements[0].points,
			[[1, 2], [2, 4], [3, 9]]);
	});

test('5: a bar plot is chart data', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const plot = await sandbox.runCode(
		'import matplotlib.pyplot as plt\n' +
		'plt.bar(["a", "b"], [3, 5])\n' +
		'plt.show()');
	const { chart } = plot.results.find((r) => r.chart !== undefined);

	assert.equal(chart.type, 'bar');
	assert.deepEqual(
		chart.elements.map(({ label, value }) => [label, value]),
		[['a', 3], ['b', 5]]);
});

test('6: variables live in their context and nowhere else', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const one = await sandbox.createCodeContext();
		const two = await sandbox.createCodeContext();

		await sandbox.runCode('x = 41', { context: one });
		const same = await sandbox.runCode('x + 1', { context: one });
		assert.equal(same.results[0].text, '42');
		const other = await sandbox.runCode('x', { context: two });
		assert.equal(other.error.name, 'NameError');
		assert.match(other.error.message, /'x' is not defined/);
		assert.equal(other.state, 'kept');
	});

test('7: a web server is reached by its preview URL until unexposed', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.writeFile('/workspace/seen.txt', 'x');
		await sandbox.startProcess('python3 -m http.server 8000');
		const { url, port } = await sandbox.exposePort(8000);
		assert.equal(port, 8000);
		const page = await until(15_000, 'the listing', async () => {
			const answer = await fetchRaw(url);
			return answer.status === 200 && answer;
		});
		assert.match(page.text, /Directory listing for \//);
		assert.match(page.text, /seen\.txt/);
		await sandbox.unexposePort(8000);
		assert.equal((await fetchRaw(url)).status, 404);
	});

const SERVER = `
const http = require('http');
let n = 0;
http.createServer((req, res) => res.end('ok')).listen(3001, () => {
	console.log('Server listening on 3001');
});
setInterval(() => console.log('tick', ++n), 300);
`;

test('8: a process is followed live and ended by its id', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.writeFile('/workspace/server.js', SERVER);
		const started = await sandbox.startProcess('node server.js');
		assert.equal(typeof started.id, 'string');
		assert.ok(started.pid > 0);
		const at = [];
		let text = '';
		let end;
		const follow = async () => {
			for await (const event of parseSSEStream(
				await sandbox.streamProcessLogs(started.id))) {
				if (event.type === 'stdout') {
					at.push(performance.now());
					text += event.data;
				}
				if (text.includes('tick 3\n'))
					break;
			}
		};
		await within(20_000, 'three ticks', follow());
		assert.match(text, /^Server listening on 3001\ntick 1\ntick 2\n/);
		assert.ok(at.length >= 4 && at.at(-1) - at[0] > 400,
			'lines came one by one');
		const running = await sandbox.getProcess(started.id);
		assert.equal(running.status, 'running');
		assert.equal(running.pid, started.pid);

		const log = await sandbox.streamProcessLogs(started.id);
		await sandbox.killProcess(started.id, 'SIGTERM');
		await within(10_000, 'the exit event', (async () => {
			for await (const event of parseSSEStream(log))
				end = event;
		})());
		assert.equal(end.type, 'exit');
		assert.equal(end.exitCode, 143);
		assert.equal(
			(await sandbox.getProcess(started.id)).status, 'killed');
	});

test('8: killAllProcesses ends all that run', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const processes = [];

	for (let i = 0; i < 3; i++)
		processes.push(await sandbox.startProcess('sleep 600'));
	assert.equal(await sandbox.killAllProcesses(), 3);
	for (const { id } of processes)
		assert.equal((await sandbox.getProcess(id)).status, 'killed');
	assert.equal((await sandbox.listProcesses({ status: 'running' }))
		.length, 0);
});

const MAKE_REPOSITORY = `set -e
git init -q -b main /tmp/repos/work
cd /tmp/repos/work
git config user.email you@example.com
git config user.name You
mkdir src
echo '# Demo' > README.md
echo 'console.log(1)' > src/index.js
git add . && git commit -q -m first
git checkout -q -b other && echo other > OTHER
git add . && git commit -q -m other
git checkout -q main
git clone -q --bare /tmp/repos/work /tmp/repos/demo.git`;

test('9: gitCheckout gives a clean working tree', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const made = await sandbox.exec(MAKE_REPOSITORY);

	assert.equal(made.exitCode, 0, made.stderr);
	await sandbox.writeFile('/tmp/git_server.js',
		await guest('git_server.js'));
	const server = await sandbox.startProcess(
		'node /tmp/git_server.js 8123', { cwd: '/tmp/repos' });
	await server.waitForLog('git server listens', 15_000);
	const answer = await sandbox.gitCheckout(
		'http://127.0.0.1:8123/demo.git',
		{ branch: 'main', targetDir: 'my-project' });
	assert.equal(answer.success, true);
	assert.equal(answer.branch, 'main');

	const { content } = await sandbox.readFile(
		'/workspace/my-project/src/index.js');
	assert.equal(content, 'console.log(1)\n');
	assert.equal((await sandbox.exists('my-project/OTHER')).exists, false);
	const status = await sandbox.exec('git status --porcelain --branch',
		{ cwd: '/workspace/my-project' });
	assert.equal(status.stderr, '');
	assert.equal(status.exitCode, 0);
	assert.equal(status.stdout, '## main...origin/main\n');
});

test('10: two tenants with the same name see nothing of each other', limit,
	async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		const name = uniqueName();
		const apiKey = await stack.newTenant();
		const mine = stack.sandbox(t, { name });
		const theirs = stack.sandbox(t, { name, apiKey });

		await mine.writeFile('/workspace/secret.txt', 'mine');
		const server = await mine.startProcess('sleep 600');
		await mine.exposePort(8000);
		const { id } = await mine.getInfo();

		await assert.rejects(theirs.getInfo(), { httpStatus: 404 });
		await theirs.writeFile('/workspace/other.txt', 'theirs');
		assert.equal((await theirs.exists('/workspace/secret.txt'))
			.exists, false);
		assert.equal((await mine.exists('/workspace/other.txt'))
			.exists, false);
		assert.equal(await theirs.getProcess(server.id), null);
		assert.deepEqual(await theirs.listProcesses(), []);
		assert.deepEqual(await theirs.getExposedPorts(), []);
		assert.notEqual((await theirs.getInfo()).id, id);

		const headers = { Authorization: `Bearer ${apiKey}` };
		for (const path of ['', '/api/process/list', '/api/ports'])
			assert.equal((await stack.call('GET',
				`/v1/sandboxes/${id}${path}`, undefined,
				{ headers })).status, 404);
		assert.equal((await stack.call('POST',
			`/v1/sandboxes/${id}/api/execute`,
			{ command: 'true' }, { headers })).status, 404);
		assert.equal((await mine.readFile('secret.txt')).content,
			'mine');
	});

/** The one number that a count query prints. */
async function count(query) {
	const text = await stack.warren('sql', query);

	return Number(/(\d+)\D*$/.exec(text)[1]);
}

test('11: SQL tells the operator what there was', limit, async (t) => {
	if (stack.noOperator)
		return t.skip(stack.noOperator);
	const sandbox = stack.sandbox(t);

	const context = await sandbox.createCodeContext();
	await sandbox.runCode('print(1)', { context });
	await sandbox.runCode('print(2)', { context });
	await sandbox.exec('echo hi');
	const printer = await sandbox.startProcess('echo one; echo two >&2');
	await printer.waitForExit(10_000);
	const { id } = await sandbox.getInfo();

	const of = (table) =>
		`SELECT count(*) AS n FROM ${table} WHERE sandbox_id = '${id}'`;
	assert.ok(await count('SELECT count(*) AS n FROM tenants') >= 1);
	assert.equal(await count(
		`SELECT count(*) AS n FROM sandboxes WHERE id = '${id}'`), 1);
	assert.equal(await count(of('contexts')), 1);
	assert.equal(await count(of('processes')), 1);
	/* Two runs and one command; processes may count as well. */
	assert.ok(await count(of('executions')) >= 3);
	/* The recorder writes in groups. */
	await until(5000, 'two log chunks', async () =>
		await count('SELECT count(*) AS n FROM process_logs WHERE ' +
			`process = '${printer.id}'`) === 2);
	await assert.rejects(stack.warren('sql', 'DELETE FROM tenants'));
});
