/**
 * Isolation, as attempts that must fail.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

import { findProcesses, keepersOf } from './lib/hostproc.mjs';
import {
	guest, uniqueName, until, useStack, within,
} from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };
const notRoot = process.getuid() !== 0 && 'needs root to look at the host';
const MIB = 1 << 20;

/* linux/capability.h */
const FORBIDDEN = {
	DAC_READ_SEARCH: 2, NET_ADMIN: 12, NET_RAW: 13, SYS_MODULE: 16,
	SYS_RAWIO: 17, SYS_PTRACE: 19, SYS_PACCT: 20, SYS_ADMIN: 21,
	SYS_BOOT: 22, SYS_NICE: 23, SYS_RESOURCE: 24, SYS_TIME: 25,
	SYS_TTY_CONFIG: 26, MKNOD: 27, AUDIT_WRITE: 29, AUDIT_CONTROL: 30,
	MAC_OVERRIDE: 32, MAC_ADMIN: 33, SYSLOG: 34, WAKE_ALARM: 35,
	BLOCK_SUSPEND: 36, AUDIT_READ: 37, PERFMON: 38, BPF: 39,
	CHECKPOINT_RESTORE: 40,
};

const statusOf = (text) => Object.fromEntries(text.trim().split('\n')
	.map((line) => line.split(/:\s*/, 2)));

/** Standard output of a command that must succeed. */
async function sh(sandbox, command, options) {
	const { stdout, stderr, exitCode } =
		await sandbox.exec(command, options);

	assert.equal(exitCode, 0, `${command}: ${stderr}`);
	return stdout;
}

async function mustFail(sandbox, command) {
	const { stdout, exitCode } = await sandbox.exec(command);

	assert.notEqual(exitCode, 0, `${command} worked: ${stdout}`);
}

function assertConfined(text, what) {
	const status = statusOf(text);

	assert.equal(status.NoNewPrivs, '1', what);
	assert.equal(status.Seccomp, '2', what);
	assert.equal(BigInt(`0x${status.CapInh}`), 0n, what);
	assert.equal(BigInt(`0x${status.CapAmb}`), 0n, what);
	for (const set of ['CapPrm', 'CapEff', 'CapBnd'])
		for (const [name, bit] of Object.entries(FORBIDDEN))
			assert.equal(BigInt(`0x${status[set]}`) >> BigInt(bit) &
				1n, 0n, `${what}: ${set} has ${name}`);
	return status;
}

test('commands, processes and code are confined alike', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const read = 'cat /proc/self/status';

		assertConfined(await sh(sandbox, read), 'command');
		const started = await sandbox.startProcess(read);
		await started.waitForExit(10_000);
		assertConfined((await started.getLogs()).stdout, 'process');
		const python = await sandbox.runCode(
			'print(open("/proc/self/status").read())');
		assertConfined(python.logs.stdout.join(''), 'python');
		const node = await sandbox.runCode(
			'console.log(require("fs")' +
			'.readFileSync("/proc/self/status", "utf8"))',
			{ language: 'javascript' });
		assertConfined(node.logs.stdout.join(''), 'javascript');
	});

test('user "sandbox" is uid 1000 without any capability', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.create({ user: 'sandbox' });
		assert.equal(await sh(sandbox, 'id -u; id -g'), '1000\n1000\n');
		const status = assertConfined(
			await sh(sandbox, 'cat /proc/self/status'), 'command');
		assert.equal(BigInt(`0x${status.CapEff}`), 0n);
		assert.equal(BigInt(`0x${status.CapPrm}`), 0n);
		await sh(sandbox, 'touch /workspace/mine');
		await mustFail(sandbox, 'touch /usr/bin/evil');
	});

test('root inside may install into its own system only', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const other = stack.sandbox(t);
		const name = uniqueName();

		await sh(sandbox, `echo x > /usr/bin/${name} && ` +
			`chown 1000:1000 /usr/bin/${name}`);
		await mustFail(other, `test -e /usr/bin/${name}`);
		assert.throws(() => readFileSync(`/usr/bin/${name}`));
	});

test('no file of the host is visible', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const dir = mkdtempSync(path.join(os.tmpdir(), 'warren-host-'));
	t.after(() => rmSync(dir, { recursive: true }));
	writeFileSync(path.join(dir, 'secret'), 'of the host');

	const hidden = [dir, '/var/lib/warren', '/run/warren',
		'/etc/shadow-', '/root/.ssh', '/boot',
		'/sys/fs/cgroup/memory'];
	if (stack.data !== undefined)
		hidden.push(stack.data);
	for (const place of hidden)
		assert.equal(await sh(sandbox,
			`ls -A ${place} 2>/dev/null || true`), '', place);
	/* Directories of packages are there. */
	assert.equal(await sh(sandbox, 'find /var/log ! -type d'), '');
	/* And not by the ways round. */
	for (const root of ['/proc/1/root', '/proc/1/cwd', '/proc/self/root',
		'/../..', '/proc/1/root/../..'])
		await mustFail(sandbox, `cat ${root}${dir}/secret`);
	await assert.rejects(sandbox.readFile(`${dir}/secret`),
		{ httpStatus: 404 });
	assert.doesNotMatch(await sh(sandbox, 'cat /etc/passwd'),
		/warren/);
});

test('links lead nowhere else for the file API', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const target = path.join(os.tmpdir(), uniqueName());

	await sh(sandbox, `ln -s ${target} link; ` +
		`ln -s /proc/self/root up; ln -s / top`);
	await sandbox.writeFile('link', 'inside');
	assert.throws(() => readFileSync(target));
	assert.equal((await sandbox.readFile(target)).content, 'inside');
	for (const way of ['up', 'top', '../..', 'top/proc/self/root/..'])
		await sandbox.writeFile(`${way}${target}`, 'inside');
	assert.throws(() => readFileSync(target));
});

test('there is no network but loopback', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const devices = await sh(sandbox,
		'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "');
	const { port } = new URL(stack.url);

	assert.equal(devices, 'lo\n');
	for (const [host, to] of [['1.1.1.1', 53], ['169.254.169.254', 80],
		['10.0.0.1', 80], ['127.0.0.1', port || 80], ['::1', port || 80],
		['2606:4700::1111', 53]])
		await mustFail(sandbox, 'timeout 3 python3 -c "import socket; ' +
			`socket.create_connection(('${host}', ${to}), 2)"`);
	/* Loopback itself works. */
	await sh(sandbox, 'python3 -c "import socket; ' +
		's = socket.create_server((\'127.0.0.1\', 80)); ' +
		'socket.create_connection((\'127.0.0.1\', 80), 2)"');
});

test('dangerous system calls are refused', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.writeFile('/tmp/syscalls.py', await guest('syscalls.py'));
	assert.equal(await sh(sandbox, 'python3 /tmp/syscalls.py'), '');
});

test('mount and unshare are refused', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	for (const command of [
		'mount -t tmpfs none /mnt', 'mount --bind / /mnt',
		'mount -o remount,rw /proc', 'umount /proc', 'unshare -Ur true',
		'unshare -m true', 'unshare -n true', 'unshare -p -f true',
		'nsenter -t 1 -m true', 'nsenter -t 1 -n true',
		'mknod /tmp/d b 7 0', 'hostname evil',
	])
		await mustFail(sandbox, command);
});

test('the kernel\'s files are read-only or hidden', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	for (const file of ['/proc/sys/kernel/core_pattern',
		'/proc/sys/kernel/hostname', '/proc/sys/vm/drop_caches',
		'/proc/sysrq-trigger', '/sys/kernel/uevent_helper',
		'/proc/1/oom_score_adj_none'])
		await mustFail(sandbox, `echo x > ${file}`);
	for (const file of ['/proc/kcore', '/dev/mem', '/dev/kmsg',
		'/dev/fuse', '/dev/loop-control', '/dev/net/tun', '/dev/kvm'])
		await mustFail(sandbox, `head -c 1 ${file} | grep -q .`);
	const block = await sh(sandbox, 'find /dev -type b');
	assert.equal(block, '');
	await sh(sandbox, 'echo x > /dev/null; head -c 1 /dev/urandom; ' +
		'head -c 1 /dev/zero');
});

test('only processes of the sandbox are seen', limit, async (t) => {
	const one = stack.sandbox(t);
	const two = stack.sandbox(t);

	await one.startProcess('exec sleep 811');
	const list = 'for d in /proc/[0-9]*; do ' +
		'tr "\\0" " " < $d/cmdline; echo; done';
	assert.match(await sh(one, list), /sleep 811/);
	const seen = await sh(two, list);
	assert.doesNotMatch(seen, /sleep 811|nginx|warrend|keeper|fcgi/);
	assert.ok(seen.trim().split('\n').length < 10, seen);
	/* Init is not seen, its memory and descriptors are not for tenants. */
	await mustFail(two, 'head -c 1 /proc/1/mem');
	await mustFail(two, 'ls /proc/1/fd');
	/* The kernel drops what PID 1 does not handle, from inside. */
	await sh(two, 'kill -9 1; kill -STOP 1; true');
	assert.equal(await sh(two, 'echo alive'), 'alive\n');
});

test('nothing of the service is in the environment', limit, async (t) => {
	const names = (await sh(stack.sandbox(t), 'env -0 | tr "\\0" "\\n" | ' +
		'cut -d= -f1')).trim().split('\n');
	const allowed = ['HOME', 'PATH', 'LANG', 'PWD', 'SHLVL', '_', 'USER',
		'LOGNAME', 'SHELL', 'TERM', 'OLDPWD', 'LC_ALL', 'HOSTNAME',
		'TMPDIR', 'MPLBACKEND', 'PYTHONUNBUFFERED'];

	for (const name of names)
		assert.ok(allowed.includes(name), name);
});

test('no descriptor leaks into commands', limit, async (t) => {
	const listed = await sh(stack.sandbox(t),
		'ls -l /proc/self/fd | tail -n +2');
	const extra = listed.split('\n').filter((line) =>
		line !== '' && !/ [0-2] -> | 3 -> \/proc/.test(line));

	assert.deepEqual(extra, []);
});

test('no process of a sandbox is root on the host',
	{ timeout: 60_000, skip: notRoot }, async (t) => {
		const sandbox = stack.sandbox(t);
		const word = `sleep-${uniqueName()}`;
		await sandbox.startProcess(
			`exec -a ${word} sleep 812`);
		const [pid] = await until(5000, 'the process',
			() => {
				const found = findProcesses(word);
				return found.length === 1 && found;
			});
		const { id } = await sandbox.getInfo();
		const uidsOf = (p) => statusOf(
			readFileSync(`/proc/${p}/status`, 'utf8'))
			.Uid.split('\t').map(Number);

		for (const uid of uidsOf(pid))
			assert.ok(uid >= 65536, `uid ${uid}`);
		const [keeper] = keepersOf(id);
		const keeperStatus = statusOf(
			readFileSync(`/proc/${keeper}/status`, 'utf8'));
		for (const uid of uidsOf(keeper))
			assert.ok(uid > 0, `keeper uid ${uid}`);
		assert.equal(BigInt(`0x${keeperStatus.CapEff}`), 0n);
		for (const worker of findProcesses('warren-fcgi'))
			for (const uid of uidsOf(worker))
				assert.ok(uid > 0, `worker uid ${uid}`);
	});

test('a command over the memory limit ends as out_of_memory', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.create({ limits: { memoryBytes: 192 * MIB } });
		const result = await within(20_000, 'the end', sandbox.exec(
			'echo begun; python3 -c "x = b\'x\' * (1 << 30)"; ' +
			'exit $?'));
		assert.equal(result.reason, 'out_of_memory');
		assert.equal(result.success, false);
		assert.equal(result.stdout, 'begun\n');
		assert.equal(await sh(sandbox, 'echo alive'), 'alive\n');
	});

test('a code run over the memory limit says so and loses its state', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.create({ limits: { memoryBytes: 384 * MIB } });
		const context = await sandbox.createCodeContext();
		const run = await within(20_000, 'the end', sandbox.runCode(
			'x = b"x" * (1 << 30)', { context }));
		assert.equal(run.reason, 'out_of_memory');
		assert.equal(run.state, 'lost');
		const next = await sandbox.runCode('1 + 1', { context });
		assert.equal(next.results[0].text, '2');
	});

const FORK = `
import os, signal
pids = []
try:
    while len(pids) < 20000:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        pids.append(pid)
except OSError:
    pass
for pid in pids:
    os.kill(pid, signal.SIGKILL)
print(len(pids))
`;

test('the number of processes is limited', limit, async (t) => {
	const small = stack.sandbox(t);
	const usual = stack.sandbox(t);

	await small.create({ limits: { pids: 40 } });
	for (const [sandbox, most] of [[small, 40], [usual, 19999]]) {
		await sandbox.writeFile('/tmp/fork.py', FORK);
		const made = Number(await sh(sandbox, 'python3 /tmp/fork.py'));
		assert.ok(made > 10 && made <= most, `${made} processes`);
		assert.equal(await sh(sandbox, 'echo alive'), 'alive\n');
	}
});

test('a fork bomb ends with its timeout and harms no other', limit,
	async (t) => {
		const bomb = stack.sandbox(t);
		const other = stack.sandbox(t);

		await bomb.create({ limits: { pids: 64 } });
		await other.exec('true');
		const running = bomb.exec('f() { f | f & }; f; sleep 60',
			{ timeout: 1500 });
		assert.equal(await sh(other, 'echo ok'), 'ok\n');
		const result = await within(15_000, 'the end', running);
		assert.equal(result.reason, 'timed_out');
		assert.equal(await sh(bomb, 'echo alive'), 'alive\n');
	});
