/**
 * Many calls and readers at once, floods, broken clients: answers stay exact,
 * other calls quick, memory and descriptors where they were.
 */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { test } from 'node:test';

import { parseSSEStream } from '../../clients/js/index.js';
import { findProcesses, keepersOf } from './lib/hostproc.mjs';
import { addressOf } from './lib/http.mjs';
import { open, pause, timed, until, useStack, within } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };
const MIB = 1 << 20;

const api = (sandbox, path) => `/v1/sandboxes/${sandbox.name}/api/${path}`;

const none = { sessionId: '__DISABLE_SESSION__' };

const workers = () => findProcesses('warren-fcgi',
	(words) => words.includes(stack.data));

/** Why a test that looks at the service's processes cannot run. */
const blind = () => (stack.data === undefined || process.getuid() !== 0) &&
	'needs root and the data directory';

function linkOf(path) {
	try {
		return readlinkSync(path);
	} catch {
		return 'gone';
	}
}

/** Descriptors but those of databases, which are kept for later calls. */
function fdsOf(pids) {
	return pids.flatMap((pid) => readdirSync(`/proc/${pid}/fd`)
		.map((fd) => linkOf(`/proc/${pid}/fd/${fd}`))
		.filter((link) => link !== 'gone' && !link.includes('.db')))
		.length;
}

function rssOf(pids) {
	return pids.map((pid) => Number(/VmRSS:\s+(\d+)/.exec(
		readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024)
		.reduce((sum, n) => sum + n, 0);
}

/** Memory that is theirs, shared pages by their share. */
function pssOf(pids) {
	return pids.map((pid) => Number(/^Pss:\s+(\d+)/m.exec(
		readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))[1]) * 1024)
		.reduce((sum, n) => sum + n, 0);
}

/** ${count} calls of ${run}, ${width} at a time. */
async function crowd(count, width, run) {
	let next = 0;
	const one = async () => {
		while (next < count)
			await run(next++);
	};

	await Promise.all(Array.from({ length: width }, one));
}

const reader = (path) => open(stack.url + path, {
	headers: { Authorization: `Bearer ${stack.apiKey}` },
});

test('400 short runs, 8 at once, are all exact and end once', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		await sandbox.exec('true');
		await crowd(400, 8, async (i) => {
			const options = i % 4 < 2 ? none : { sessionId: `s${i % 8}` };
			const command = `echo out ${i}; echo err ${i} >&2; ` +
				`(exit ${i % 7})`;
			const texts = { stdout: '', stderr: '' };
			let ends = 0;
			let code;

			if (i % 2 === 0) {
				const result = await sandbox.exec(command, options);
				Object.assign(texts, result);
				code = result.exitCode;
				ends = 1;
			} else {
				for await (const event of parseSSEStream(
					await sandbox.execStream(command, options))) {
					if (event.type in texts)
						texts[event.type] += event.data;
					if (event.type === 'complete') {
						ends++;
						code = event.exitCode;
					}
				}
			}
			assert.equal(texts.stdout, `out ${i}\n`);
			assert.equal(texts.stderr, `err ${i}\n`);
			assert.equal(code, i % 7);
			assert.equal(ends, 1);
		});
	});

test('20 calls at once in 20 sessions have 20 answers', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	for (let round = 0; round < 3; round++) {
		const results = await Promise.all(Array.from({ length: 20 },
			(_, i) => sandbox.exec(
				`n=$((\${n-${i}00} + 1)); echo ${i} $n`,
				{ sessionId: `s${i}` })));
		results.forEach(({ stdout }, i) => assert.equal(stdout,
			`${i} ${i * 100 + round + 1}\n`));
	}
});

test('200 idle streams delay no status call', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const quiet = await sandbox.startProcess('exec sleep 600');
	const path = api(sandbox, `process/${quiet.id}/stream`);
	const readers = await Promise.all(
		Array.from({ length: 200 }, () => reader(path)));

	for (const response of readers)
		assert.equal(response.statusCode, 200);
	for (let i = 0; i < 5; i++)
		assert.equal(await quiet.getStatus(), 'running');
	assert.equal((await sandbox.exec('echo ok')).stdout, 'ok\n');
	/* And all are told of the end. */
	const ends = readers.map((response) => new Promise((resolve) => {
		let text = '';
		response.on('data', (chunk) => { text += chunk; });
		response.on('end', () => resolve(text.includes('"exit"')));
	}));
	await quiet.kill();
	assert.deepEqual([...new Set(await within(10_000, 'the ends',
		Promise.all(ends)))], [true]);
});

test('a stream that waits takes less than 40 KiB', limit, async (t) => {
	if (blind())
		return t.skip(blind());
	const sandbox = stack.sandbox(t);
	const quiet = await sandbox.startProcess('exec sleep 600');
	const path = api(sandbox, `process/${quiet.id}/stream`);
	const { id } = await sandbox.getInfo();
	const pids = () => [...workers(), ...keepersOf(id)];
	const count = 300;

	await quiet.getStatus();
	const before = pssOf(pids());
	const readers = [];
	for (let i = 0; i < count; i += 50)
		readers.push(...await Promise.all(
			Array.from({ length: 50 }, () => reader(path))));
	for (const response of readers)
		response.on('error', () => {});
	t.after(() => readers.forEach((response) => response.destroy()));
	/* The burst of openings took more, which is given back. */
	const grown = () => (pssOf(pids()) - before) / count / 1024;
	await until(40_000, 'less than 40 KiB', () => grown() < 40);
	t.diagnostic(`${grown().toFixed(1)} KiB each`);
});

test('200 readers reset five times leave no descriptor behind', limit,
	async (t) => {
		if (blind())
			return t.skip(blind());
		const sandbox = stack.sandbox(t);
		const ticking = await sandbox.startProcess(
			'while :; do echo tick; sleep 0.2; done');
		const path = api(sandbox, `process/${ticking.id}/stream`);
		const { id } = await sandbox.getInfo();
		const pids = () => [...workers(), ...keepersOf(id)];

		await ticking.getStatus();
		const before = fdsOf(pids());
		for (let round = 0; round < 5; round++) {
			const readers = await Promise.all(
				Array.from({ length: 200 }, () => reader(path)));
			for (const response of readers) {
				response.on('error', () => {});
				response.socket.resetAndDestroy();
			}
		}
		await until(15_000, 'the descriptors', () =>
			fdsOf(pids()) <= before + 8);
		assert.equal(await ticking.getStatus(), 'running');
	});

test('a reader that does not read delays no 200 MB and takes no memory',
	limit, async (t) => {
		if (blind())
			return t.skip(blind());
		const sandbox = stack.sandbox(t);
		const flood = await sandbox.startProcess(
			'until test -e /tmp/go; do sleep 0.05; done; ' +
			'head -c 200000000 /dev/zero | tr "\\0" x; echo; echo end');
		const { id } = await sandbox.getInfo();
		const response = await reader(
			api(sandbox, `process/${flood.id}/stream`));

		response.pause();
		const pids = [...workers(), ...keepersOf(id)];
		const before = rssOf(pids);
		await sandbox.writeFile('/tmp/go', '');
		const { ms } = await timed(() => flood.waitForExit(40_000));
		assert.ok(rssOf(pids) - before < 64 * MIB,
			`${(rssOf(pids) - before) / MIB} MiB more`);
		/* Late as it is, it gets the end. */
		let tail = '';
		response.on('data', (chunk) => {
			tail = (tail + chunk).slice(-2000);
		});
		response.resume();
		await within(20_000, 'the end', new Promise((resolve) => {
			response.on('end', resolve);
		}));
		assert.match(tail, /end\\n"/);
		assert.match(tail, /"type":"exit"/);
		t.diagnostic(`200 MB in ${Math.round(ms)} ms`);
	});

test('yes for 5 seconds leaves the memory flat', limit, async (t) => {
	if (blind())
		return t.skip(blind());
	const sandbox = stack.sandbox(t);
	await sandbox.exec('true');
	const { id } = await sandbox.getInfo();
	const pids = [...workers(), ...keepersOf(id)];
	const before = rssOf(pids);
	let most = before;
	const watch = setInterval(() => {
		most = Math.max(most, rssOf(pids));
	}, 100);
	const result = await sandbox.exec('yes', { timeout: 5000 });

	clearInterval(watch);
	assert.equal(result.reason, 'timed_out');
	assert.equal(result.truncated, true);
	assert.ok(result.stdoutBytes > result.stdout.length);
	assert.ok(most - before < 160 * MIB,
		`${Math.round((most - before) / MIB)} MiB more`);
	t.diagnostic(`${Math.round(result.stdoutBytes / MIB)} MiB, ` +
		`${Math.round((most - before) / MIB)} MiB of memory`);
});

test('10,000 calls on kept connections, many refused unread', {
	timeout: 80_000,
}, async (t) => {
	const sandbox = stack.sandbox(t);
	await sandbox.exec('true');
	const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
	const { host, port, headers } = addressOf(stack.url);
	const key = `Bearer ${stack.apiKey}`;
	const big = 'x'.repeat(100_000);
	const kinds = [
		['GET', 'ping', key, undefined, 200],
		['POST', 'nothing/here', key, big, 404],
		['POST', 'execute', 'Bearer wrong', big, 401],
		['POST', 'execute', key, '{"command": 1}', 400],
		['GET', 'process/none', key, undefined, 404],
		['POST', 'session/delete', key, big, 413],
		['POST', 'execute', key, '{', 400],
		['GET', 'process/list', key, undefined, 200],
	];
	const call = (method, path, auth, body) => new Promise(
		(resolve, reject) => {
			const request = http.request({
				host, port, agent, method,
				path: api(sandbox, path),
				headers: { ...headers, Authorization: auth,
					'Content-Type': 'application/json',
					...(body && { 'Content-Length': body.length }) },
			}, (response) => {
				let text = '';
				response.on('data', (chunk) => { text += chunk; });
				response.on('end', () => resolve({
					status: response.statusCode, text }));
				response.on('error', reject);
			});
			request.on('error', reject);
			request.end(body);
		});
	let wrong = 0;

	await crowd(10_000, 8, async (i) => {
		const [method, path, auth, body, want] = kinds[i % kinds.length];
		const big_body = body === big;
		try {
			const { status, text } = await call(method, path, auth, body);
			JSON.parse(text);
			if (status !== want && !(big_body && status === 413))
				throw new Error(`${method} ${path}: ${status} ${text}`);
		} catch (error) {
			/* A refusal may come before all of a body was sent. */
			if (big_body && ['ECONNRESET', 'EPIPE'].includes(error.code))
				wrong++;
			else
				throw error;
		}
	});
	agent.destroy();
	assert.ok(wrong < 50, `${wrong} cut off`);
	assert.equal((await sandbox.exec('echo ok')).stdout, 'ok\n');
});

test('commands of 1 MiB and heredocs work in every form', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const word = 'é"$x\' '.repeat(131_000).slice(0, MIB - 4000);
		const command = `cat <<'EOF' | wc -m\n${word}\nEOF`;
		const want = `${word.length + 1}\n`;

		for (const options of [{}, none, { sessionId: 'other' }]) {
			assert.equal((await sandbox.exec(command, options)).stdout,
				want);
			const events = [];
			for await (const event of parseSSEStream(
				await sandbox.execStream(command, options)))
				events.push(event);
			assert.equal(events.filter(({ type }) => type === 'stdout')
				.map(({ data }) => data).join(''), want);
			const started = await sandbox.startProcess(command, options);
			await started.waitForExit(20_000);
			assert.equal((await started.getLogs()).stdout, want);
		}
	});

test('bodies without a length are read to their end', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const body = JSON.stringify({ command: 'wc -c',
		stdin: 'y'.repeat(300_000) });
	const { host, port, headers } = addressOf(stack.url);
	const status = await new Promise((resolve, reject) => {
		const request = http.request({
			host, port, method: 'POST', agent: false,
			path: api(sandbox, 'execute'),
			headers: { ...headers,
				'Authorization': `Bearer ${stack.apiKey}`,
				'Content-Type': 'application/json',
				'Transfer-Encoding': 'chunked' },
		}, async (response) => {
			let text = '';
			for await (const chunk of response)
				text += chunk;
			resolve(JSON.parse(text));
		});
		request.on('error', reject);
		(async () => {
			for (let at = 0; at < body.length; at += 50_000) {
				request.write(body.slice(at, at + 50_000));
				await pause(10);
			}
			request.end();
		})();
	});

	assert.equal(status.stdout, '300000\n');
});

test('a tenant whose readers take nothing holds up no other', limit,
	async (t) => {
		if (blind())
			return t.skip(blind());
		const count = 300; /* more than workers have threads for calls */
		const apiKey = await stack.newTenant();
		const sandbox = stack.sandbox(t, { apiKey });

		await sandbox.exec('head -c 8M /dev/zero | tr "\\0" x >big');
		let told = 0;
		const readers = Array.from({ length: count }, async () => {
			const response = await open(
				stack.url + api(sandbox, 'read'), {
					method: 'POST',
					body: '{"path":"/workspace/big"}',
					headers: {
						Authorization: `Bearer ${apiKey}`,
						'Content-Type': 'application/json',
					},
				});

			response.pause();
			response.on('error', () => {});
			told++;
			return response;
		});
		/* Some have to wait for a place, and are refused in the end. */
		await until(40_000, 'the readers', async () => {
			const { status } = await within(10_000, 'another\'s call',
				stack.call('GET', '/v1/sandboxes'));

			assert.equal(status, 200);
			return told >= 260;
		});
		const held = rssOf(workers());

		for (const response of await Promise.all(readers))
			response.destroy();
		assert.ok(held < 2.5 * 1024 * MIB, `${held / MIB} MiB`);
	});

test('bodies that never come, of nobody, hold up nobody', limit, async (t) => {
	const { host, port } = addressOf(stack.url);
	const count = 600; /* more than workers have threads for calls */
	const head = 'POST /v1/sandboxes/x/files/a HTTP/1.1\r\n' +
		'Host: localhost\r\nContent-Length: 900000\r\n\r\nx';
	let told = 0;
	const sockets = Array.from({ length: count }, () => {
		const socket = net.connect(port, host, () => socket.write(head));

		socket.on('error', () => {});
		socket.once('data', () => told++);
		return socket;
	});

	t.after(() => sockets.forEach((socket) => socket.destroy()));
	await until(30_000, 'all to be refused', async () => {
		const { status } = await within(10_000, 'another\'s call',
			stack.call('GET', '/v1/sandboxes'));

		assert.equal(status, 200);
		return told === count;
	});
});
