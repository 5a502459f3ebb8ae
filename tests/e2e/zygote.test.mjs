/**
 * Contexts that were forked from a zygote: each way in which such a process
 * could differ from one that was started by exec, for better or worse. Long,
 * since each language goes through the same table of cases, on one stack.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { describe, test } from 'node:test';

import { charged } from './lib/charged.mjs';
import { findProcesses, findPrograms, parentOf } from './lib/hostproc.mjs';
import { timed, until, useStack, within } from './stack.mjs';

const MIB = 1 << 20;
const limit = { timeout: 120_000 };
const stack = useStack();

const LANGUAGES = {
	python: {
		program: 'python3',
		file: (name) => `print(open(${JSON.stringify(name)}).read())`,
		fork: 'import os\npid = os.fork()\nif pid == 0: os._exit(7)\n' +
			'print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))',
		shell: (command) => 'import subprocess\nprint(subprocess' +
			`.getoutput(${JSON.stringify(command)}))`,
		json: (code) => `import json\nprint(json.dumps(${code}))`,
		pid: '__import__("os").getpid()',
		env: 'dict(__import__("os").environ)',
		files: '{n: __import__("os").readlink("/proc/self/fd/" + n) ' +
			'for n in __import__("os").listdir("/proc/self/fd") ' +
			'if __import__("os").path.lexists("/proc/self/fd/" + n)}',
		random: '[__import__("random").random(), ' +
			'__import__("numpy").random.random(), ' +
			'__import__("ssl").RAND_bytes(8).hex(), ' +
			'__import__("os").urandom(8).hex(), ' +
			'str(__import__("uuid").uuid4()), ' +
			'__import__("secrets").token_hex()]',
		namespaces: '{n: __import__("os").readlink("/proc/self/ns/" + n) ' +
			'for n in ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")}',
		allocate: (mib) => `kept = bytearray(b"x") * (${mib} << 20)`,
	},
	javascript: {
		program: 'node',
		file: (name) => 'console.log(require("node:fs").readFileSync(' +
			`${JSON.stringify(name)}, "utf8"))`,
		fork: 'console.log(require("node:child_process")' +
			'.spawnSync("/bin/sh", ["-c", "exit 7"]).status)',
		shell: (command) => 'console.log(require("node:child_process")' +
			`.execSync(${JSON.stringify(command)}, ` +
			'{ encoding: "utf8" }))',
		json: (code) => `console.log(JSON.stringify(${code}))`,
		pid: 'process.pid',
		env: 'process.env',
		files: 'Object.fromEntries(require("node:fs")' +
			'.readdirSync("/proc/self/fd").flatMap((n) => { try { ' +
			'return [[n, require("node:fs").readlinkSync(' +
			'"/proc/self/fd/" + n)]]; } catch { return []; } }))',
		random: '[Math.random(), require("node:crypto").randomUUID(), ' +
			'globalThis.crypto?.randomUUID() ?? Math.random(), ' +
			'require("node:crypto").randomBytes(8).toString("hex")]',
		namespaces: 'Object.fromEntries(["cgroup", "ipc", "mnt", "net", ' +
			'"pid", "user", "uts"].map((n) => [n, ' +
			'require("node:fs").readlinkSync("/proc/self/ns/" + n)]))',
		allocate: (mib) =>
			`globalThis.kept = Buffer.alloc(${mib} << 20, "x"); 0`,
	},
};

async function out(sandbox, context, code) {
	const run = await sandbox.runCode(code, { context });

	assert.equal(run.error, undefined, JSON.stringify(run.error));
	return run.logs.stdout.join('');
}

const json = async (sandbox, context, language, code) =>
	JSON.parse(await out(sandbox, context, LANGUAGES[language].json(code)));

const cmdline = (sandbox, context, language) =>
	out(sandbox, context, LANGUAGES[language].file('/proc/self/cmdline'));

/** A context that was forked; the zygotes may still be warming up. */
async function forked(sandbox, language, options = {}) {
	return until(60_000, `a ${language} context out of a zygote`, async () => {
		const context = await sandbox.createCodeContext(
			{ language, ...options });

		if (/zygote/.test(await cmdline(sandbox, context, language)))
			return context;
		await sandbox.deleteCodeContext(context.id);
		return undefined;
	});
}

const sh = async (sandbox, command) => (await sandbox.exec(command)).stdout;

/** The lines of /proc/self/status that say what a process may do. */
const powers = (status) => status.split('\n').filter((line) =>
	/^(Uid|Gid|Groups|Cap\w+|NoNewPrivs|Seccomp\w*|SigBlk|SigPnd):/.test(line));

for (const [language, say] of Object.entries(LANGUAGES)) {
	describe(language, { timeout: 300_000 }, () => {
		test('it has exactly the powers of a command', limit, async (t) => {
			const sandbox = stack.sandbox(t);
			const context = await forked(sandbox, language);
			const status = await out(sandbox, context,
				say.file('/proc/self/status'));

			assert.deepEqual(powers(status),
				powers(await sh(sandbox, 'cat /proc/self/status')));
			assert.match(status, /^NoNewPrivs:\s1$/m);
			assert.match(status, /^Seccomp:\s2$/m);
			assert.match(status, /^Seccomp_filters:\s2$/m);
			assert.match(status, /^CapInh:\s0+$/m);
		});

		test('as user sandbox it has no powers at all', limit, async (t) => {
			const sandbox = stack.sandbox(t);

			await sandbox.create({ user: 'sandbox' });
			const context = await forked(sandbox, language);
			const status = await out(sandbox, context,
				say.file('/proc/self/status'));

			assert.match(status, /^Uid:\s1000\s1000\s1000\s1000$/m);
			for (const set of ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb'])
				assert.match(status,
					new RegExp(`^Cap${set}:\\s0+$`, 'm'));
			assert.deepEqual(powers(status),
				powers(await sh(sandbox, 'cat /proc/self/status')));
		});

		test('it is in the sandbox\'s namespaces and limits', limit,
			async (t) => {
				const sandbox = stack.sandbox(t);
				const context = await forked(sandbox, language);
				const seen = await json(sandbox, context, language,
					say.namespaces);

				for (const [name, value] of Object.entries(seen))
					assert.equal(value, (await sh(sandbox,
						`readlink /proc/self/ns/${name}`)).trim());
				const limits = async (text) => text.split('\n')
					.map((line) => line.trim()).filter(Boolean);
				assert.deepEqual(
					await limits(await out(sandbox, context,
						say.file('/proc/self/limits'))),
					await limits(await sh(sandbox,
						'cat /proc/self/limits')));
				assert.match(await out(sandbox, context,
					say.file('/proc/self/oom_score_adj')), /^500\n/);
				assert.equal(await out(sandbox, context,
					say.file('/etc/hostname')), 'sandbox\n\n');
			});

		test('its pid is its own, and init is its parent', limit,
			async (t) => {
				const sandbox = stack.sandbox(t);
				const context = await forked(sandbox, language);
				const status = await out(sandbox, context,
					say.file('/proc/self/status'));

				assert.equal(await json(sandbox, context, language,
					say.pid), Number(/^Pid:\s(\d+)$/m.exec(status)[1]));
				assert.match(status, /^PPid:\s1$/m);
				assert.match(status, /^TracerPid:\s0$/m);
			});

		test('its files have the walls of a command\'s', limit, async (t) => {
			const sandbox = stack.sandbox(t);
			const context = await forked(sandbox, language);
			const attempts = 'mknod /tmp/d c 1 3 2>&1; ' +
				'mkdir /tmp/a /tmp/b; echo x > /tmp/a/f; ' +
				'mv /tmp/a/f /tmp/b/g && cat /tmp/b/g; rm -r /tmp/a /tmp/b';

			assert.equal((await out(sandbox, context,
				say.shell(attempts))).trim(),
			(await sh(sandbox, attempts)).trim());
		});

		test('it sees the commands\' processes', limit, async (t) => {
			const sandbox = stack.sandbox(t);
			const context = await forked(sandbox, language);

			await sandbox.startProcess('sleep 1913');
			assert.match(await out(sandbox, context,
				say.shell('ps -e -o args | grep "^sleep"')),
			/^sleep 1913$/m);
		});

		test('it is seen in /proc as any other process', limit, async (t) => {
			const sandbox = stack.sandbox(t);
			const context = await forked(sandbox, language);
			const pid = await json(sandbox, context, language, say.pid);

			assert.match(await sh(sandbox, `ps -o pid=,user= -p ${pid}; ` +
				`kill -0 ${pid} && echo reached`),
			new RegExp(`^\\s*${pid} root\\nreached\\n$`));
			assert.match(await out(sandbox, context, say.shell(
				`tr '\\0' '\\n' </proc/${pid}/environ`)),
			/^PATH=.*\nHOME=\/root\nLANG=C.UTF-8\n\s*$/);
		});

		test('it is in a leaf of its own of the cgroup', limit, async (t) => {
			const sandbox = stack.sandbox(t);
			const first = await forked(sandbox, language);
			const second = await forked(sandbox, language);
			const leaf = async (context) => /^0::(\/e\d+)$/m.exec(
				await out(sandbox, context,
					say.file('/proc/self/cgroup')))[1];

			assert.notEqual(await leaf(first), await leaf(second));
		});

		test('siblings draw different random numbers', limit, async (t) => {
			const drawn = [];

			for (let i = 0; i < 3; i++) {
				const sandbox = stack.sandbox(t);
				const context = await forked(sandbox, language);

				drawn.push(...await json(sandbox, context, language,
					say.random));
			}
			assert.equal(new Set(drawn).size, drawn.length,
				JSON.stringify(drawn));
		});

		test('it has no file of the zygote\'s', limit, async (t) => {
			const sandbox = stack.sandbox(t);
			const context = await forked(sandbox, language);
			const files = await json(sandbox, context, language, say.files);

			for (const [fd, to] of Object.entries(files))
				assert.match(to, fd === '0' ? /^\/dev\/null$/ :
					Number(fd) < 3 ? /^pipe:/ : fd === '3' ? /^socket:/ :
						/^(anon_inode|pipe|socket):|^\/dev\/null$|^\/proc\/\d+\/fd$/,
				fd);
			if (stack.noOperator)
				return;
			/* nothing that a zygote could see or be woken by */
			const theirs = new Set(zygotesOf(say.program).flatMap(openIn));
			for (const to of Object.values(files))
				assert.ok(!theirs.has(to), to);
		});

		test('it sees its own environment, and nothing of the service',
			limit, async (t) => {
				const sandbox = stack.sandbox(t);
				const context = await forked(sandbox, language,
					{ envVars: { MINE: 'ä=1', TZ: 'Asia/Tokyo' } });
				const env = await json(sandbox, context, language, say.env);
				const plain = await sh(sandbox, 'env -0');

				assert.equal(env.MINE, 'ä=1');
				for (const line of plain.split('\0').filter(Boolean)) {
					const [name] = line.split('=');

					if (!['_', 'PWD', 'SHLVL', 'OLDPWD'].includes(name))
						assert.equal(`${name}=${env[name]}`, line);
				}
				assert.doesNotMatch(JSON.stringify(env), /warren/i);
				assert.doesNotMatch(await cmdline(sandbox, context,
					language), new RegExp(stack.data ?? 'wrn_'));
			});

		test('what it starts ends as it should', limit, async (t) => {
			const sandbox = stack.sandbox(t);
			const context = await forked(sandbox, language);

			assert.equal(await out(sandbox, context, say.fork), '7\n');
			const status = await out(sandbox, context,
				say.file('/proc/self/status'));
			const ignored = BigInt(
				`0x${/^SigIgn:\s(\w+)$/m.exec(status)[1]}`);
			assert.equal(ignored >> 16n & 1n, 0n, 'SIGCHLD');
			assert.equal(ignored >> 12n & 1n, 1n, 'SIGPIPE');
		});

		test('a missing cwd is told as always', limit, async (t) => {
			const sandbox = stack.sandbox(t);

			await assert.rejects(
				sandbox.createCodeContext({ language, cwd: '/nowhere' }),
				(error) => error.httpStatus === 400 &&
					/cwd|nowhere/.test(JSON.stringify(error)));
		});

		test('its memory is the sandbox\'s', limit, async (t) => {
			if (stack.noOperator)
				return t.skip(stack.noOperator);
			const sandbox = stack.sandbox(t);

			await sandbox.exec('true');
			const id = (await stack.call('GET',
				`/v1/sandboxes/${sandbox.name}`)).json.id;
			const start = charged(stack.data, id);
			const context = await forked(sandbox, language);
			const idle = charged(stack.data, id);
			await out(sandbox, context, say.allocate(100));
			const full = charged(stack.data, id);

			assert.ok(idle - start < 16 * MIB,
				`idle: ${(idle - start) / MIB} MiB`);
			assert.ok(full - idle > 95 * MIB && full - idle < 130 * MIB,
				`100 MiB: ${(full - idle) / MIB} MiB`);
		});

		test('over the memory limit it ends as out_of_memory, and the ' +
			'zygote goes on', limit, async (t) => {
			const sandbox = stack.sandbox(t);

			await sandbox.create({ limits: { memoryBytes: 192 * MIB } });
			const context = await forked(sandbox, language);
			const run = await within(20_000, 'the end', sandbox.runCode(
				say.allocate(400), { context }));
			assert.equal(run.reason, 'out_of_memory');
			assert.equal(run.state, 'lost');
			assert.match(await cmdline(sandbox, context, language),
				/zygote/);
		});

		test('kill -9 of the zygote under load fails no call', limit,
			async (t) => {
				if (stack.noOperator)
					return t.skip(stack.noOperator);
				const sandbox = stack.sandbox(t);

				await forked(sandbox, language);
				let killed = 0;
				const client = async () => {
					for (let i = 0; i < 6; i++) {
						const context = await sandbox
							.createCodeContext({ language });

						assert.equal((await sandbox.runCode('1 + 1',
							{ context })).results[0].text, '2');
						await sandbox.deleteCodeContext(context.id);
					}
				};
				const load = Promise.all(
					Array.from({ length: 4 }, client));
				const killer = (async () => {
					while (killed < 3) {
						for (const pid of zygotesOf(say.program)) {
							process.kill(pid, 'SIGKILL');
							killed++;
						}
						await new Promise((done) =>
							setTimeout(done, 100));
					}
				})();

				await load;
				await killer;
				await forked(sandbox, language);
			});
	});
}

/** Pids of this stack's zygotes: children of its broker. */
function zygotesOf(program) {
	const [broker] = findPrograms('warrend',
		(words) => words.includes(stack.data));

	return findProcesses(program, (words) =>
		words.some((word) => /zygote/.test(word)))
		.filter((pid) => parentOf(pid) === broker);
}

/** What pipes and sockets a process has open. */
const openIn = (pid) => readdirSync(`/proc/${pid}/fd`)
	.map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`))
	.filter((to) => /^(pipe|socket):/.test(to));

describe('python, as people use it', { timeout: 300_000 }, () => {
	const cells = {
		'subprocess and sys.executable': [`
import subprocess, sys
print(subprocess.run([sys.executable, "-c", "print(40 + 2)"],
    capture_output=True, text=True).stdout, end="")`, '42\n'],
		'multiprocessing': [`
import multiprocessing
def double(n): return 2 * n
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(double, [1, 2, 3]))`, '[2, 4, 6]\n'],
		threads: [`
import threading
seen = []
threads = [threading.Thread(target=seen.append, args=(n,)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(seen), threading.current_thread() is threading.main_thread())`,
		'[0, 1, 2, 3, 4, 5, 6, 7] True\n'],
		asyncio: [`
import asyncio
async def sleep_and(n):
    await asyncio.sleep(0.01)
    return n
async def two():
    process = await asyncio.create_subprocess_exec("echo", "child",
        stdout=asyncio.subprocess.PIPE)
    text, _ = await process.communicate()
    return await asyncio.gather(sleep_and(1), sleep_and(2)), text
print(asyncio.run(two()))
print(await sleep_and(3))`, '([1, 2], b\'child\\n\')\n3\n'],
		'time zones of its environment': [`
import os, time
os.environ["TZ"] = "Asia/Tokyo"; time.tzset()
print(time.tzname[0])`, 'JST\n'],
		'a big matrix product': [`
import numpy as np
print(int((np.ones((300, 300)) @ np.ones((300, 300))).sum()))`, '27000000\n'],
		'what /proc says of the program': [`
import os
print(os.path.exists(os.readlink("/proc/self/exe")))`, 'True\n'],
		'nothing of earlier cells': [`
print(In, Out, [n for n in dir() if not n.startswith("_")])`,
		/^\['', .*\] \{\} \['In', 'Out', 'get_ipython'\]\n$/s],
	};

	for (const [name, [code, expected]] of Object.entries(cells))
		test(name, limit, async (t) => {
			const sandbox = stack.sandbox(t);
			const context = await forked(sandbox, 'python');
			await sandbox.deleteCodeContext(context.id);
			const fresh = await sandbox.createCodeContext();
			const printed = await out(sandbox, fresh, code);

			if (expected instanceof RegExp)
				assert.match(printed, expected);
			else
				assert.equal(printed, expected);
		});

	test('a collection copies little of what it shares', limit, async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		const sandbox = stack.sandbox(t);
		const context = await forked(sandbox, 'python');
		const { id } = (await stack.call('GET',
			`/v1/sandboxes/${sandbox.name}`)).json;

		await out(sandbox, context, 'import gc; gc.collect(0)');
		const before = charged(stack.data, id);
		await out(sandbox, context, 'gc.collect()');
		assert.ok(charged(stack.data, id) - before < 8 * MIB,
			`${(charged(stack.data, id) - before) / MIB} MiB`);
	});

	test('a zygote\'s memory is on huge pages', limit, async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		const sandbox = stack.sandbox(t);

		await forked(sandbox, 'python');
		if (/\[never\]/.test(readFileSync(
			'/sys/kernel/mm/transparent_hugepage/enabled', 'utf8')))
			return t.skip('this machine has none');
		const [pid] = zygotesOf('python3');
		const huge = /^AnonHugePages:\s+(\d+) kB$/m.exec(readFileSync(
			`/proc/${pid}/smaps_rollup`, 'utf8'));
		assert.ok(Number(huge[1]) > 16 << 10, huge[0]);
	});

	test('fonts are found', limit, async (t) => {
		const sandbox = stack.sandbox(t);
		const context = await forked(sandbox, 'python');
		const run = await sandbox.runCode('import matplotlib.pyplot as plt\n' +
			'plt.title("Überschrift, 標題")\nplt.plot([1, 2]); plt.show()',
		{ context });

		assert.equal(run.error, undefined);
		assert.ok(run.results[0].png.length > 5000);
		assert.doesNotMatch(run.logs.stderr.join(''), /findfont/);
	});

	test('a package of the sandbox\'s own wins', limit, async (t) => {
		const sandbox = stack.sandbox(t);

		await forked(sandbox, 'python');
		await sandbox.exec('mkdir -p mine/numpy && ' +
			'echo "mine = True" >mine/numpy/__init__.py');
		const context = await sandbox.createCodeContext(
			{ envVars: { PYTHONPATH: '/workspace/mine' } });
		assert.equal(await out(sandbox, context,
			'import numpy; print(numpy.mine)'), 'True\n');
		await sandbox.exec('P=$(python3 -c "import sysconfig; ' +
			'print(sysconfig.get_path(\'purelib\', \'posix_local\'))"); ' +
			'mkdir -p $P/pandas && echo "mine = 2" >$P/pandas/__init__.py');
		const other = await sandbox.createCodeContext();
		assert.equal(await out(sandbox, other,
			'import pandas; print(pandas.mine)'), '2\n');
	});

	test('what is read early is heeded', limit, async (t) => {
		const sandbox = stack.sandbox(t);
		const context = await sandbox.createCodeContext(
			{ envVars: { OMP_NUM_THREADS: '1' } });

		assert.doesNotMatch(await cmdline(sandbox, context, 'python'),
			/zygote/);
	});
});

describe('JavaScript, as people use it', { timeout: 300_000 }, () => {
	const cells = {
		'timers and promises': [`
const { setTimeout: sleep } = require("node:timers/promises");
await sleep(5);
console.log(await Promise.all([sleep(1, "a"), sleep(2, "b")]));`,
		'[ \'a\', \'b\' ]\n'],
		'files and compression off the main thread': [`
const { promisify } = require("node:util"), zlib = require("node:zlib");
await require("node:fs").promises.writeFile("f", "text");
const text = await require("node:fs").promises.readFile("f", "utf8");
console.log(text, (await promisify(zlib.gzip)("x".repeat(9999))).length < 100);`,
		'text true\n'],
		'a server and fetch': [`
const server = require("node:http").createServer((_, res) => res.end("hello"));
await new Promise((done) => server.listen(0, done));
console.log(await (await fetch(
	"http://127.0.0.1:" + server.address().port)).text());
server.close();`, 'hello\n'],
		'worker threads': [`
const { Worker } = require("node:worker_threads");
console.log(await new Promise((done) => new Worker(
	"require('node:worker_threads').parentPort.postMessage(6 * 7)",
	{ eval: true }).on("message", done)));`, '42\n'],
		'child processes': [`
const { exec } = require("node:child_process");
console.log(await new Promise((done) => exec("echo child; exit 3",
	(error, text) => done([error.code, text]))));`,
		'[ 3, \'child\\n\' ]\n'],
		'WebAssembly that traps': [`
const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1,
	127, 3, 2, 1, 0, 5, 3, 1, 0, 1, 7, 5, 1, 1, 102, 0, 0, 10, 12, 1, 10, 0,
	65, 128, 128, 128, 1, 40, 2, 0, 11]);
try {
	(await WebAssembly.instantiate(bytes)).instance.exports.f();
} catch (error) {
	console.log(error.message);
}`, 'memory access out of bounds\n'],
		'hot code': [`
let sum = 0;
for (let i = 0; i < 3e7; i++)
	sum = (sum + i * 7) % 1000003;
console.log(sum);`, /^\d+\n$/],
		'process.exit': ['process.exitCode = 0; console.log(1)', '1\n'],
	};

	for (const [name, [code, expected]] of Object.entries(cells))
		test(name, limit, async (t) => {
			const sandbox = stack.sandbox(t);
			const context = await forked(sandbox, 'javascript');
			const printed = await out(sandbox, context, code);

			if (expected instanceof RegExp)
				assert.match(printed, expected);
			else
				assert.equal(printed, expected);
		});

	test('an end by the code is told with its reason', limit, async (t) => {
		const sandbox = stack.sandbox(t);
		const context = await forked(sandbox, 'javascript');
		const run = await within(10_000, 'the end',
			sandbox.runCode('process.exit(7)', { context }));

		assert.equal(run.state, 'lost');
		assert.equal(run.reason, 'exited');
	});

	test('NODE_OPTIONS are heeded', limit, async (t) => {
		const sandbox = stack.sandbox(t);
		const context = await sandbox.createCodeContext({
			language: 'javascript',
			envVars: { NODE_OPTIONS: '--max-old-space-size=64' },
		});

		assert.ok(await json(sandbox, context, 'javascript',
			'require("node:v8").getHeapStatistics().heap_size_limit') <
			128 * MIB);
	});

	test('TypeScript comes out of the same zygote', limit, async (t) => {
		const sandbox = stack.sandbox(t);

		await forked(sandbox, 'javascript');
		const context = await sandbox.createCodeContext(
			{ language: 'typescript' });
		assert.match(await out(sandbox, context, 'const words: string[] = ' +
			'process.argv; console.log(require("node:fs").readFileSync(' +
			'"/proc/self/cmdline", "utf8"))'), /zygote/);
		assert.equal((await sandbox.runCode('enum E { A = 5 }; E.A',
			{ context })).results[0].text, '5');
	});
});

test('a hundred contexts, made and dropped, leave nothing', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await forked(sandbox, 'python');
		const count = async () => (await sh(sandbox,
			'ls -d /proc/[0-9]* | wc -l')).trim();
		const start = await count();
		const { ms } = await timed(async () => {
			for (let i = 0; i < 100; i++) {
				const context = await sandbox.createCodeContext({
					language: i % 2 ? 'python' : 'javascript' });

				assert.equal((await sandbox.runCode('1 + 1',
					{ context })).results[0].text, '2');
				await sandbox.deleteCodeContext(context.id);
			}
		});

		t.diagnostic(`${(ms / 100).toFixed(1)} ms each`);
		await until(5000, 'as few processes as before',
			async () => await count() === start);
	});
