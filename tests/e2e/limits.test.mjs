/**
 * Limits: each is hit by a real program, names itself with limit and use, and
 * leaves the sandbox and its neighbour as they were. Plans, and what was
 * refused. Long, since there are many limits, and each is tried alike.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseSSEStream } from '../../clients/js/index.js';
import { uniqueName, until, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 120_000 };
const MIB = 1 << 20;

/** A sandbox of its own limits; removed after ${t}. */
async function limited(t, limits, settings = {}) {
	const sandbox = stack.sandbox(t);

	await sandbox.create({ limits, ...settings });
	return sandbox;
}

/** The hit of that name among ${result}'s. */
function hit(result, name) {
	const found = result.limits?.find((one) => one.name === name);

	assert.ok(found, `${name} in ${JSON.stringify(result)}`);
	assert.ok(found.hits >= 1);
	return found;
}

async function usable(sandbox) {
	const { stdout, limits } = await sandbox.exec('echo fine');

	assert.equal(stdout, 'fine\n');
	assert.equal(limits, undefined);
}

/** It is not disturbed while ${fn} runs into its limit. */
async function beside(t, fn) {
	const other = stack.sandbox(t);

	await other.exec('true');
	const [result] = await Promise.all([fn(), (async () => {
		for (let i = 0; i < 5; i++) {
			const { stdout } = await other.exec('echo still here');
			assert.equal(stdout, 'still here\n');
		}
	})()]);
	await usable(other);
	assert.deepEqual(await other.getDenials(), []);
	return result;
}

/** Waits until ${what} was counted ${exactly} times, or at least so often. */
async function denied(sandbox, what, policy, { least = 1, exactly } = {}) {
	const row = await until(5000, `${what} among the denials`, async () => {
		const rows = await sandbox.getDenials();

		return rows.find((one) => one.what === what &&
			one.policy === policy &&
			one.count >= (exactly ?? least));
	});

	if (exactly !== undefined)
		assert.equal(row.count, exactly);
	assert.ok(Math.abs(Date.parse(row.lastAt) - Date.now()) < 60_000);
}

/* ---- what is asked for ---- */

test('what holds is shown, what is asked for is given', limit, async (t) => {
	const plain = stack.sandbox(t);
	const small = stack.sandbox(t);

	await plain.exec('true');
	const { limits, network } = await plain.getInfo();
	assert.deepEqual(Object.keys(limits).sort(), ['contexts', 'cpuMillis',
		'cpuWeight', 'diskBytes', 'fileSizeBytes', 'inodes', 'logBytes',
		'memoryBytes', 'openFiles', 'outputBytes', 'pids',
		'processLogBytes', 'processes', 'tmpBytes', 'wallMs']);
	assert.ok(Object.values(limits).every((value) => value > 0));
	assert.equal(network, 'none');
	const asked = { memoryBytes: 128 * MIB, cpuMillis: 500, cpuWeight: 50,
		pids: 100, openFiles: 300, fileSizeBytes: 2 * MIB,
		tmpBytes: 8 * MIB, diskBytes: 16 * MIB };
	const made = await small.create({ limits: asked });
	for (const [name, value] of Object.entries(asked))
		assert.equal(made.limits[name], value);
	assert.equal(made.limits.wallMs, limits.wallMs);
	/* The same again is the same sandbox, another is a conflict. */
	assert.equal((await small.create({ limits: asked })).id, made.id);
	await assert.rejects(small.create({ limits: { pids: 99 } }),
		{ httpStatus: 409 });
	const { stdout } = await small.exec(
		'ulimit -n; ulimit -f; df -k --output=size /tmp /dev/shm');
	assert.match(stdout, /^300\n2048\n.*\n\s*8192\n\s*8192\n$/);
});

test('more than the tenant\'s is refused, naming field and limit', limit,
	async (t) => {
		const { limits } = await limited(t, {}).then((s) => s.getInfo());

		for (const [name, most] of Object.entries(limits)) {
			const answer = await stack.call('POST', '/v1/sandboxes', {
				name: uniqueName(), limits: { [name]: most + 4096 },
			});
			assert.equal(answer.status, 400, name);
			assert.equal(answer.json.code, 'VALIDATION_FAILED');
			assert.equal(answer.json.context.limit, most);
			assert.equal(
				answer.json.context.validationErrors[0].field,
				`limits.${name}`);
		}
	});

test('what is no limit is refused', limit, async (t) => {
	const cases = [
		[{ limits: { memoryBytes: 0 } }, 'limits.memoryBytes'],
		[{ limits: { pids: -1 } }, 'limits.pids'],
		[{ limits: { pids: 1.5 } }, 'limits.pids'],
		[{ limits: { pids: '64' } }, 'limits.pids'],
		[{ limits: { gpus: 1 } }, 'limits.gpus'],
		[{ limits: { memoryBytes: 64 * MIB, tmpBytes: 60 * MIB } },
			'limits.tmpBytes'],
		[{ network: 'lan' }, 'network'],
		[{ networkDeny: ['10.0.0.1/8'] }, 'networkDeny'],
		[{ networkDeny: ['192.0.2.0/24'] }, 'networkDeny'],
		[{ network: 'none', networkAllow: ['192.0.2.0/24'] },
			'networkAllow'],
		[{ networkAllow: ['::/0'] }, 'networkAllow'],
		[{ networkAllow: [1] }, 'networkAllow'],
	];

	for (const [settings, field] of cases) {
		const answer = await stack.call('POST', '/v1/sandboxes',
			{ name: uniqueName(), ...settings });
		assert.equal(answer.status, 400, field);
		assert.ok(answer.json.context.validationErrors[0].field
			.startsWith(field), answer.text);
	}
	t.diagnostic(`${cases.length} bodies`);
});

/* ---- each is hit ---- */

test('memory', limit, async (t) => {
	const sandbox = await limited(t, { memoryBytes: 64 * MIB });
	const eat = 'python3 -c "x = bytearray(200 << 20)"';
	const result = await beside(t, () => sandbox.exec(eat));

	assert.equal(result.reason, 'out_of_memory');
	assert.equal(result.exitCode, 137);
	const { limit: most, used } = hit(result, 'memoryBytes');
	assert.equal(most, 64 * MIB);
	assert.ok(used > 32 * MIB && used <= 64 * MIB, `${used}`);
	await usable(sandbox);
	/* One that goes on when its child was killed has its own reason. */
	const after = await sandbox.exec(`${eat}; echo after`);
	assert.equal(after.reason, 'exited');
	assert.equal(after.stdout, 'after\n');
	hit(after, 'memoryBytes');
	await denied(sandbox, 'out_of_memory', 'limits.memoryBytes',
		{ exactly: 2 });
});

test('memory, of a code context', limit, async (t) => {
	const sandbox = await limited(t, { memoryBytes: 128 * MIB });
	const run = await sandbox.runCode('x = bytearray(400 << 20)');

	assert.equal(run.reason, 'out_of_memory');
	assert.equal(run.state, 'lost');
	assert.equal(hit(run, 'memoryBytes').limit, 128 * MIB);
	const next = await sandbox.runCode('print(1 + 1)');
	assert.deepEqual(next.logs.stdout, ['2\n']);
	/* The run and its kernel tell of one kill. */
	await denied(sandbox, 'out_of_memory', 'limits.memoryBytes',
		{ exactly: 1 });
});

test('memory, by files in /tmp and /dev/shm', limit, async (t) => {
	const sandbox = await limited(t,
		{ memoryBytes: 64 * MIB, tmpBytes: 8 * MIB });
	const { stdout, reason } = await sandbox.exec(
		'for d in /tmp /dev/shm; do head -c 20M /dev/zero > $d/x; ' +
		'stat -c %s $d/x; done 2>/dev/null');

	assert.equal(reason, 'exited');
	assert.equal(stdout, `${8 * MIB}\n${8 * MIB}\n`);
	await assert.rejects(sandbox.writeFile('/tmp/y', 'x'.repeat(MIB)),
		(error) => error.code === 'NO_SPACE' &&
			error.context.name === 'tmpBytes' &&
			error.context.limit === 8 * MIB);
	await usable(sandbox);
});

test('pids', limit, async (t) => {
	const sandbox = await limited(t, { pids: 40 });
	const result = await beside(t, () => sandbox.exec(
		'python3 -c "\nimport os, time\nn = 0\n' +
		'for i in range(100):\n' +
		'    try:\n' +
		'        if os.fork() == 0:\n' +
		'            time.sleep(1); os._exit(0)\n' +
		'        n += 1\n' +
		'    except OSError: pass\n' +
		'print(n < 40)"'));

	assert.equal(result.stdout, 'True\n');
	assert.equal(result.reason, 'exited');
	const { limit: most, hits } = hit(result, 'pids');
	assert.equal(most, 40);
	assert.ok(hits >= 60, `${hits}`);
	await until(10_000, 'an end of the children', async () => {
		const { stdout } = await sandbox.exec('echo fine')
			.catch(() => ({}));
		return stdout === 'fine\n';
	});
	await denied(sandbox, 'pid_limit', 'limits.pids', { least: 60 });
});

test('disk bytes', limit, async (t) => {
	const sandbox = await limited(t, { diskBytes: 16 * MIB });
	const result = await beside(t, () => sandbox.exec(
		'head -c 100M /dev/zero > full; exit 1'));

	assert.equal(result.reason, 'disk_limit');
	const { limit: most, used } = hit(result, 'diskBytes');
	assert.ok(most >= 16 * MIB && most < 17 * MIB, `${most}`);
	assert.ok(used <= most && used > 15 * MIB);
	await assert.rejects(sandbox.writeFile('more', 'x'.repeat(MIB)),
		(error) => error.code === 'NO_SPACE' &&
			error.context.name === 'diskBytes' &&
			error.context.limit === most);
	await denied(sandbox, 'disk_limit', 'limits.diskBytes',
		{ exactly: 2 });
	await sandbox.exec('rm full');
	await sandbox.writeFile('more', 'x'.repeat(MIB));
	await usable(sandbox);
});

test('inodes', limit, async (t) => {
	const sandbox = await limited(t, { inodes: 500 });
	const result = await sandbox.exec(
		'for i in $(seq 1000); do : > f$i || exit 1; done');

	assert.equal(result.reason, 'disk_limit');
	const { limit: most, used } = hit(result, 'inodes');
	assert.ok(most >= 500 && most < 600, `${most}`);
	assert.equal(used, most);
	await denied(sandbox, 'disk_limit', 'limits.inodes');
	await sandbox.exec('rm f*');
	await usable(sandbox);
});

test('open files and the size of a file', limit, async (t) => {
	const sandbox = await limited(t,
		{ openFiles: 300, fileSizeBytes: 2 * MIB });
	const open = await sandbox.exec('python3 -c "\nl = []\ntry:\n' +
		'    while True: l.append(open(\'/dev/null\'))\n' +
		'except OSError as e: print(e.errno, len(l) < 300)"');

	assert.equal(open.stdout, '24 True\n');
	const inCode = await sandbox.runCode('import resource as r\n' +
		'print(r.getrlimit(r.RLIMIT_NOFILE), ' +
		'r.getrlimit(r.RLIMIT_FSIZE))');
	assert.deepEqual(inCode.logs.stdout,
		['(300, 300) (2097152, 2097152)\n']);
	const size = await sandbox.exec('head -c 3M /dev/zero > big');
	assert.equal(size.exitCode, 128 + 25);
	assert.equal((await sandbox.exec('stat -c %s big')).stdout,
		`${2 * MIB}\n`);
	await assert.rejects(sandbox.writeFile('big2', 'x'.repeat(3 * MIB)),
		(error) => error.code === 'FILE_TOO_LARGE' &&
			error.context.limit === 2 * MIB);
	await usable(sandbox);
});

test('output: what is over the limit is counted, not kept', limit,
	async (t) => {
		const sandbox = await limited(t, { outputBytes: 4096 });
		const result = await beside(t, () => sandbox.exec(
			'yes | head -c 5M; echo end >&2; exit 3'));

		assert.equal(result.exitCode, 3);
		assert.equal(result.reason, 'exited');
		assert.equal(result.truncated, true);
		assert.equal(result.stdout.length + result.stderr.length, 4096);
		assert.equal(result.stdoutBytes, 5 * MIB);
		assert.deepEqual(hit(result, 'outputBytes'), {
			name: 'outputBytes', limit: 4096, used: 5 * MIB + 4,
			hits: 1,
		});
		await denied(sandbox, 'output_limit', 'limits.outputBytes');
		await usable(sandbox);
	});

/* What it is told of one that printed more than it might. */
function ended(result, used) {
	assert.equal(result.reason, 'output_limit');
	const { limit, hits, used: told } = hit(result, 'outputBytes');
	assert.deepEqual({ limit, hits }, { limit: 4096, hits: 1 });
	assert.ok(told > 4096);
	if (used !== undefined)
		assert.equal(told, used);
}

test('output: a program that is to end there says why', limit, async (t) => {
	const sandbox = await limited(t, { outputBytes: 4096 });
	const to = { onOutputLimit: 'end' };
	const result = await beside(t, () => sandbox.exec('yes', to));

	ended(result, result.stdoutBytes);
	assert.equal(result.success, false);
	assert.equal(result.truncated, true);
	assert.equal(result.stdout, 'y\n'.repeat(2048));
	const both = await sandbox.exec(
		'printf %4096d 0; sleep 0.2; echo over >&2; sleep 100', to);
	ended(both, 4101);
	assert.deepEqual([both.stdout.length, both.stderr], [4096, '']);
	/* Who does not listen to TERM ends all the same, and so does what was
	 * left behind in a session. */
	ended(await sandbox.exec('trap "" TERM; (sleep 100 &); yes',
		{ ...to, sessionId: 'loud' }));
	assert.equal((await sandbox.exec('pgrep -c "yes|sleep"')).stdout,
		'0\n');
	await denied(sandbox, 'output_limit', 'limits.outputBytes',
		{ exactly: 3 });
	await usable(sandbox);
});

test('output: as much as it may print ends nothing', limit, async (t) => {
	const sandbox = await limited(t, { outputBytes: 4096 });
	const result = await sandbox.exec('printf %4096d 0',
		{ onOutputLimit: 'end' });

	assert.deepEqual([result.exitCode, result.reason, result.truncated],
		[0, 'exited', undefined]);
	assert.equal(result.limits, undefined);
	await assert.rejects(sandbox.exec('true', { onOutputLimit: 'x' }),
		(error) => error.code === 'VALIDATION_FAILED' &&
			/onOutputLimit must be/.test(error.message));
	assert.deepEqual(await sandbox.getDenials(), []);
});

test('output: streams and processes end there too', limit, async (t) => {
	const sandbox = await limited(t, { outputBytes: 4096 });
	const to = { onOutputLimit: 'end' };
	let bytes = 0, last;

	for await (const event of parseSSEStream(
		await sandbox.execStream('yes', to))) {
		bytes += event.type === 'stdout' ? event.data.length : 0;
		last = event;
	}
	assert.equal(last.type, 'complete');
	assert.equal(bytes, 4096);
	ended(last);
	const process = await sandbox.startProcess('yes', to);
	const end = await process.waitForExit(30_000);
	assert.equal(end.reason, 'output_limit');
	assert.equal((await process.getLogs()).stdout.length, 4096);
	assert.equal(await process.getStatus(), 'killed');
	await usable(sandbox);
});

test('logs: the oldest output of a sandbox goes first', limit, async (t) => {
	const sandbox = await limited(t, { logBytes: 256 << 10 });
	const loud = await sandbox.startProcess('seq 200000');

	await loud.waitForExit(30_000);
	await until(10_000, 'the log to be bounded', async () => {
		const { stdout } = await loud.getLogs();
		return stdout.endsWith('\n200000\n') &&
			stdout.length <= 1 << 20;
	});
	await usable(sandbox);
});

test('wall time bounds every execution', limit, async (t) => {
	const sandbox = await limited(t, { wallMs: 1500 });
	const over = await sandbox.exec('sleep 60');

	assert.equal(over.reason, 'timed_out');
	assert.equal(over.exitCode, 124);
	const wall = hit(over, 'wallMs');
	assert.equal(wall.limit, 1500);
	assert.ok(wall.used >= 1500 && wall.used < 10_000);
	const own = await sandbox.exec('sleep 60', { timeout: 200 });
	assert.equal(hit(own, 'timeoutMs').limit, 200);
	await assert.rejects(sandbox.exec('true', { timeout: 1501 }),
		(error) => error.httpStatus === 400 &&
			error.context.limit === 1500);
	const run = await sandbox.runCode('import time\ntime.sleep(60)');
	assert.equal(run.reason, 'timed_out');
	assert.equal(hit(run, 'wallMs').limit, 1500);
	const background = await sandbox.startProcess('sleep 60');
	assert.equal((await background.waitForExit(20_000)).reason,
		'timed_out');
	await background.getStatus();
	assert.equal(hit(background, 'wallMs').limit, 1500);
	await denied(sandbox, 'timed_out', 'limits.wallMs',
		{ exactly: 3 });
	await denied(sandbox, 'timed_out', 'timeoutMs',
		{ exactly: 1 });
	await usable(sandbox);
});

test('a stream\'s last event names the limit too', limit, async (t) => {
	const sandbox = await limited(t, { memoryBytes: 64 * MIB });
	const events = [];

	for await (const event of parseSSEStream(await sandbox.execStream(
		'python3 -c "x = bytearray(200 << 20)"')))
		events.push(event);
	assert.equal(events.at(-1).reason, 'out_of_memory');
	hit(events.at(-1), 'memoryBytes');
	const eater = await sandbox.startProcess(
		'python3 -c "x = bytearray(200 << 20)"');
	const told = [];
	for await (const event of parseSSEStream(
		await sandbox.streamProcessLogs(eater.id)))
		told.push(event);
	assert.equal(told.at(-1).reason, 'out_of_memory');
	hit(told.at(-1), 'memoryBytes');
	await eater.getStatus();
	assert.equal(eater.reason, 'out_of_memory');
	hit(eater, 'memoryBytes');
});

test('processes and contexts', limit, async (t) => {
	const sandbox = await limited(t, { processes: 2, contexts: 1 });
	const first = await sandbox.startProcess('sleep 60');
	const full = (name, most) => (error) => error.httpStatus === 429 &&
		error.code === 'LIMIT_EXCEEDED' && error.context.name === name &&
		error.context.limit === most && error.context.used === most;

	await sandbox.startProcess('sleep 60');
	await assert.rejects(sandbox.startProcess('sleep 60'),
		full('processes', 2));
	await first.kill();
	await until(5000, 'room for another', () =>
		sandbox.startProcess('sleep 60').catch(() => undefined));
	await sandbox.createCodeContext();
	await assert.rejects(sandbox.createCodeContext(), full('contexts', 1));
	await denied(sandbox, 'process_limit', 'limits.processes', { least: 1 });
	await denied(sandbox, 'context_limit', 'limits.contexts',
		{ exactly: 1 });
});

test('cpu: half a core is half a core', limit, async (t) => {
	const sandbox = await limited(t, { cpuMillis: 500 });
	const { stdout } = await sandbox.exec('python3 -c "\nimport time\n' +
		'a, c = time.monotonic(), time.process_time()\n' +
		'while time.monotonic() - a < 3: pass\n' +
		'print((time.process_time() - c) / (time.monotonic() - a))"');

	assert.ok(Number(stdout) < 0.6, stdout);
	await usable(sandbox);
});

/* ---- tenants ---- */

test('a tenant\'s own limits hold for its sandboxes alone',
	limit, async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		const [name, plan] = [uniqueName(), uniqueName()];
		const apiKey = await stack.newTenant(name);
		const theirs = stack.sandbox(t, { apiKey });
		const ours = stack.sandbox(t);

		await stack.warren('plan', 'add', plan,
			'--limit', 'memoryBytes=96M', '--limit', 'network=none');
		await stack.warren('tenant', 'set', name, '--plan', plan,
			'--limit', 'pids=50');
		await assert.rejects(
			theirs.create({ limits: { memoryBytes: 128 * MIB } }),
			(error) => error.context.limit === 96 * MIB);
		await assert.rejects(theirs.create({ network: 'internet' }),
			{ httpStatus: 400 });
		const made = await theirs.create();
		assert.equal(made.limits.memoryBytes, 96 * MIB);
		assert.equal(made.limits.pids, 50);
		await ours.exec('true');
		assert.ok((await ours.getInfo()).limits.pids > 50);
		const eaten = await theirs.exec(
			'python3 -c "x = bytearray(200 << 20)"');
		assert.equal(hit(eaten, 'memoryBytes').limit, 96 * MIB);
		await denied(theirs, 'out_of_memory', 'limits.memoryBytes',
		{ exactly: 1 });
		assert.deepEqual(await ours.getDenials(), []);
		/* Another's denials are not there, by name or by id. */
		for (const which of [made.name, made.id]) {
			const answer = await stack.call('GET',
				`/v1/sandboxes/${which}/denials`);
			assert.equal(answer.status, 404);
		}
		/* A plan that is changed holds at once for what is asked. */
		await stack.warren('plan', 'set', plan,
			'--limit', 'memoryBytes=64M');
		assert.equal((await theirs.getInfo()).limits.memoryBytes,
			64 * MIB);
		const rows = await stack.warren('sql', 'SELECT what, count FROM ' +
			`denials WHERE tenant = '${name}'`);
		assert.match(rows, /out_of_memory\t1/);
	});

test('more sandboxes than the tenant may have are 429, others are not held up',
	limit, async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		const name = uniqueName();
		const apiKey = await stack.newTenant(name);
		const [one, two, three] = [1, 2, 3].map(
			() => stack.sandbox(t, { apiKey }));
		const full = (error) => {
			assert.equal(error.httpStatus, 429);
			assert.equal(error.code, 'LIMIT_EXCEEDED');
			assert.deepEqual(
				[error.context.name, error.context.limit,
					error.context.used],
				['sandboxes', 2, 2]);
			assert.match(error.message, /has 2 sandboxes.*may have 2/);
			return true;
		};

		await stack.warren('tenant', 'set', name,
			'--limit', 'sandboxes=2');
		await one.create();
		await two.exec('true');
		/* By create and by first use; what is there goes on. */
		await assert.rejects(three.create(), full);
		await assert.rejects(three.exec('true'), full);
		await assert.rejects(three.writeFile('x', 'x'), full);
		await usable(one);
		await usable(two);
		await usable(stack.sandbox(t));
		assert.match(await stack.warren('sql', 'SELECT sandboxes FROM ' +
			`limits WHERE tenant = '${name}'`), /\n2\n/);
		await two.destroy();
		await usable(three);
	});

const REFUSED = 'for _ in 1 2 3; do unshare -U true; done; ' +
	'mount -t tmpfs none /mnt; true';

test('refused system calls are counted', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.exec('true');
	assert.deepEqual(await sandbox.getDenials(), []);
	const { stderr } = await sandbox.exec(REFUSED);
	assert.match(stderr, /unshare: .*Operation not permitted/);
	await denied(sandbox, 'unshare', 'seccomp', { exactly: 3 });
	await sandbox.exec('unshare -U true');
	await denied(sandbox, 'unshare', 'seccomp', { exactly: 4 });
});

for (const language of ['python', 'javascript'])
	test(`those of a ${language} context are, too`, limit, async (t) => {
		const sandbox = stack.sandbox(t);
		const context = await sandbox.createCodeContext({ language });
		const code = language === 'python'
			? 'import subprocess\nprint(subprocess.getoutput(' +
				`${JSON.stringify(REFUSED)}))`
			: 'console.log(require("node:child_process").spawnSync(' +
				`"/bin/sh", ["-c", ${JSON.stringify(REFUSED)}],` +
				'{ encoding: "utf8" }).stderr)';
		const run = await sandbox.runCode(code, { context });

		assert.match(run.logs.stdout.join(''),
			/unshare: .*Operation not permitted/);
		await denied(sandbox, 'unshare', 'seccomp', { exactly: 3 });
	});

test('denials of an unknown sandbox are 404', limit, async () => {
	const answer = await stack.call('GET',
		`/v1/sandboxes/${uniqueName()}/denials`);

	assert.equal(answer.status, 404);
	assert.equal(answer.json.code, 'SANDBOX_NOT_FOUND');
});

test('refusals of the network are counted with their policy', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		try {
			await sandbox.create({ network: 'internet',
				networkDeny: ['192.0.2.0/24'] });
		} catch (error) {
			if (error.httpStatus !== 503)
				throw error;
			return t.skip('this machine gives no policy internet');
		}
		await sandbox.exec('for a in 10.1.2.3 192.0.2.9; do timeout 1 ' +
			'bash -c ": > /dev/tcp/$a/80"; done; ' +
			'timeout 1 bash -c ": > /dev/tcp/198.51.100.1/25"; true');
		await denied(sandbox, 'private_address', 'network', { least: 1 });
		const rows = await sandbox.getDenials();
		assert.ok(rows.every((row) => row.count >= 1));
		assert.ok(rows.some((row) => row.policy === 'networkDeny' ||
			row.what === 'private_address'));
		const again = await sandbox.getDenials();
		assert.deepEqual(again, rows);
	});
