/**
 * nginx/serve as it is told to stop: whatever it does at that moment, and
 * whoever still reads what it says, nothing is left running.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { getSandbox } from '../../clients/js/index.js';
import * as server from './lib/server.mjs';
import { until, within } from './lib/wait.mjs';

const run = promisify(execFile);
const SERVE = path.join(server.ROOT, 'nginx/serve');
const skip = !server.canServe() && 'needs root and nginx/serve';
const limit = { timeout: 240_000, skip };
let home, data, port, runDir;

/** What runs on the data directory: programs of its bin, and nginx. */
function running() {
	return readdirSync('/proc').filter((pid) => {
		try {
			return readlinkSync(`/proc/${pid}/exe`)
				.startsWith(`${data}/bin/`);
		} catch {
			return false;
		}
	});
}

async function assertNothingRuns() {
	assert.deepEqual(running(), []);
	await assert.rejects(fetch(`http://127.0.0.1:${port}/v1/health`));
	assert.ok(!existsSync(runDir), `${runDir} is gone`);
}

/** serve in a process group of its own, as a shell starts it. */
function start(...options) {
	const child = spawn(SERVE,
		['--port', port, '--data', data, ...options],
		{ detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
	const serve = { child, text: '' };

	for (const stream of [child.stdout, child.stderr])
		stream.on('data', (chunk) => { serve.text += chunk; });
	serve.ended = new Promise((resolve) => child.once('exit',
		(code, signal) => resolve(code ?? signal)));
	serve.says = (words) => until(120_000, words,
		() => serve.text.includes(words));
	return serve;
}

const open = async () => getSandbox('kept', {
	url: `http://localhost:${port}`,
	apiKey: (await readFile(path.join(data, 'default.key'), 'utf8')).trim(),
});

before(async () => {
	if (skip)
		return;
	home = await server.makeDataDir();
	data = path.join(home, 'data');
	port = await server.freePort();
	/* As a careful administrator's shell would, and the builds once. */
	await run('bash', ['-c', 'umask 077; exec "$@"', 'bash', SERVE,
		'--detach', '--port', port, '--data', data],
	{ timeout: 15 * 60_000 });
	runDir = (await readFile(path.join(data, 'run-dir'), 'utf8')).trim();
}, { timeout: 15 * 60_000 });

after(async () => {
	if (home === undefined)
		return;
	if (existsSync(data))
		await server.stop(data);
	await rm(home, { recursive: true, force: true });
});

test('a start with umask 077 serves, and so does the next', limit, async () => {
	const { mode } = await stat(path.join(data, 'run-dir'));
	assert.equal(mode & 0o777, 0o644);
	assert.equal((await stat(runDir)).mode & 0o777, 0o755);
	const sandbox = await open();
	assert.equal((await sandbox.exec('umask; yes | head -n 1')).stdout,
		'0022\ny\n');
	await server.stop(data);
	await assertNothingRuns();
});

test('a reader that is gone does not keep it from stopping', limit,
	async () => {
		const serve = start();
		await serve.says('Ctrl-C stops it');
		serve.child.stdout.destroy();
		serve.child.stderr.destroy();
		serve.child.kill('SIGTERM');
		assert.equal(await within(60_000, 'the end', serve.ended), 0);
		await assertNothingRuns();
	});

test('Ctrl-C with tee behind it stops all', limit, async () => {
	const child = spawn('bash', ['-c',
		`'${SERVE}' --port ${port} --data '${data}' | tee '${home}/log'`],
	{ detached: true, stdio: 'ignore' });
	const ended = new Promise((resolve) => child.once('exit', resolve));

	await until(120_000, 'the stack', async () =>
		(await readFile(`${home}/log`, 'utf8').catch(() => ''))
			.includes('Ctrl-C stops it'));
	process.kill(-child.pid, 'SIGINT');
	await ended;
	await until(30_000, 'the end', () => !existsSync(runDir));
	await assertNothingRuns();
});

for (const [options, words] of [
	[['--detach'], 'Starting…'], [[], 'Starting…'],
	[['--detach'], 'Building…'], [[], 'Composing the image…'],
])
	test(`Ctrl-C in "${words}" ${options} stops all and is no failure`, limit,
		async () => {
			let serve, code = 0;

			/* It may be up before the signal comes. */
			for (let i = 0; code === 0 && i < 5; i++) {
				await server.stop(data);
				serve = start(...options);
				await serve.says(words);
				process.kill(-serve.child.pid, 'SIGINT');
				code = await within(60_000, 'the end',
					serve.ended);
			}
			assert.equal(code, 130, serve.text);
			assert.doesNotMatch(serve.text, /fail|error/i);
			await assertNothingRuns();
		});

test('--stop ends it while it still starts', limit, async () => {
	for (const words of ['Building…', 'Starting…']) {
		const serve = start('--detach');
		await serve.says(words);
		await server.stop(data);
		await serve.ended;
		await assertNothingRuns();
	}
});

test('--stop finds what runs on a directory that was removed', limit,
	async () => {
		await server.start({ port, data });
		await rm(data, { recursive: true });
		await server.stop(data);
		await assertNothingRuns();
		assert.ok(!existsSync(data));
	});

test('--stop ends what kill -9 of serve and of the broker left', limit,
	async () => {
		await server.start({ port, data });
		await (await open()).startProcess('sleep 1000');
		for (const name of ['serve', 'warrend'])
			process.kill(Number(await readFile(
				`${runDir}/${name}.pid`)), 'SIGKILL');
		await server.stop(data);
		await assertNothingRuns();
	});

test('names that are refused make no directory', limit, async () => {
	for (const [name, words, ...options] of [
		['da ta', /characters/],
		['typo', /There is no/, '--stop'],
		['bind', /--bind 300\.1\.1\.1 is not/, '--bind', '300.1.1.1'],
		['bind', /--bind 1\.2 is not/, '--bind', '1.2'],
		['domain', /--domain a\.\.b is not/, '--domain', 'a..b'],
		['domain', /--domain a-\.b is not/, '--domain', 'a-.b'],
	]) {
		const wrong = path.join(home, name);
		await assert.rejects(run(SERVE, ['--data', wrong, ...options]),
			(error) => words.test(error.stderr));
		assert.ok(!existsSync(wrong), wrong);
	}
	await mkdir(path.join(home, 'empty'));
	await run(SERVE, ['--stop', '--data', path.join(home, 'empty')]);
	assert.deepEqual(readdirSync(path.join(home, 'empty')), []);
});

test('a wrong setting in warren.ini stops a start with one sentence', limit,
	async () => {
		const ini = path.join(data, 'warren.ini');

		await server.stop(data);
		for (const [text, says] of [
			['[history]\nlogs = 7\n',
				'line 2: [history] logs = "7" is no time'],
			['[pool]\npython = 1\nperl = 1\n',
				'line 3: [pool] perl is no language'],
			['[netwrk]\nrate = 5\n',
				'line 2: [netwrk] rate is in no section'],
			['[network]\nrate = 0\n', 'line 2: [network] rate = "0" ' +
				'is no number from 1 to 100000'],
		]) {
			await writeFile(ini, text);
			await assert.rejects(
				run(SERVE, ['--port', port, '--data', data]),
				({ code, stderr }) => code === 1 &&
					stderr.startsWith(`serve: ${ini}, ${says}`) &&
					stderr.indexOf('\n') === stderr.length - 1,
				text);
			await assertNothingRuns();
		}
		await rm(ini);
	});
