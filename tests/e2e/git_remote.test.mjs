/**
 * Git: what is fetched of a remote, whom it gets to know, and who gets which
 * credential. Servers run in the sandbox itself; 127.0.0.2 is another host.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { makeBare, makeLarge, run, seen, serve } from './lib/repos.mjs';
import { useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 240_000 };
const ME = { name: 'Ann', email: 'ann@example.com' };
const BOB = { type: 'basic', username: 'bob', password: 's3cret-word' };
const CREDENTIAL = 'bob:s3cret-word';
const HEADER = `Basic ${Buffer.from(CREDENTIAL).toString('base64')}`;
const OTHER = '127.0.0.2';
const HISTORY = 'for i in 1 2 3; do echo $i > f$i; git add .; ' +
	'git commit -qm "c$i"; done; git branch dev HEAD~1';

const git = (sandbox, cwd, command) => run(sandbox, `git ${command}`, { cwd });

/** Another host that has the same, asks everybody, and remembers. */
const otherHost = (sandbox) => serve(sandbox, {
	host: OTHER, credential: 'carol:other-word', env: { GIT_SEEN: '/tmp/seen' },
});

test('a depth, one branch or a commit: what is asked for is fetched', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const count = (cwd) => git(sandbox, cwd, 'rev-list --count HEAD');
		const branches = (cwd) => git(sandbox, cwd,
			'for-each-ref --format="%(refname:short)" refs/remotes');

		await makeBare(sandbox, 'demo', `${HISTORY}
			git checkout -q --orphan lost; echo lost > lost; git add .
			git commit -qm lost; git rev-parse HEAD > /tmp/lost
			git checkout -q main; git branch -D lost; git tag v1 dev`);
		await run(sandbox, 'cd /tmp/repos/demo.git; git fetch -q ' +
			'/tmp/make $(cat /tmp/lost):refs/hidden/x');
		const url = `${await serve(sandbox)}/demo.git`;
		const clone = (targetDir, options) =>
			sandbox.gitCheckout(url, { targetDir, ...options });

		const two = await clone('a', { depth: 2 });
		assert.equal(two.engine, 'libgit2');
		assert.equal(await count('a'), '2');
		assert.equal(await branches('a'), 'origin/HEAD\norigin/main');
		await clone('b', { depth: 1, singleBranch: false });
		assert.match(await branches('b'), /origin\/dev/);
		await clone('c', { singleBranch: true, branch: 'dev' });
		assert.equal(await branches('c'), 'origin/dev');
		assert.equal(await count('c'), '2');
		await clone('d', { depth: 1, branch: 'v1' });
		assert.equal(await count('d'), '1');
		const lost = (await sandbox.readFile('/tmp/lost')).content.trim();
		for (const [targetDir, depth] of [['e'], ['f', 1]]) {
			const at = await clone(targetDir, { commit: lost, depth });
			assert.equal(at.commit, lost);
			assert.equal(await git(sandbox, targetDir,
				'log --format=%s -1'), 'lost');
		}
		await assert.rejects(clone('g', { commit: 'f'.repeat(40) }),
			{ httpStatus: 404, code: 'GIT_BRANCH_NOT_FOUND' });
		await assert.rejects(clone('g', { commit: 'main' }),
			{ httpStatus: 400, message: /commit/ });
		assert.equal((await sandbox.exists('g')).exists, false);

		/* a shallow one goes on: forward, by a merge, and back */
		await git(sandbox, 'c', 'checkout -qb main origin/dev');
		await sandbox.writeFile('/workspace/b/new', 'of b\n');
		await sandbox.gitCommit('new', { path: 'b', all: true, author: ME });
		await sandbox.gitPush({ path: 'b' });
		assert.equal((await sandbox.gitPull({ path: 'a' })).result,
			'fast-forward');
		assert.equal(await count('a'), '3');
		assert.equal(await git(sandbox, 'a', 'fsck 2>&1'), '');
	});

test('a large repository is cloned, and its progress told', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const told = [];

		await makeLarge(sandbox, 'large', 2000, 20000);
		const url = `${await serve(sandbox)}/large.git`;
		const answer = await sandbox.gitCheckout(url, {
			targetDir: 'a', onProgress: (event) => told.push(event),
		});
		assert.equal(answer.branch, 'main');
		assert.equal(await git(sandbox, 'a', 'rev-list --count HEAD'),
			'2000');
		assert.equal(await git(sandbox, 'a', 'ls-files | wc -l'), '20000');
		const last = told.at(-1);
		assert.deepEqual([last.phase, last.files, last.totalFiles],
			['checkout', 20000, 20000]);
		assert.ok(last.objects === last.totalObjects &&
			last.objects > 20000, JSON.stringify(last));
		assert.ok(last.bytes > 1 << 20, JSON.stringify(last));
		assert.ok(told.some(({ phase }) => phase !== 'checkout'));
		await run(sandbox, 'rm -rf /workspace/a', { cwd: '/' });
		await sandbox.gitCheckout(url, { targetDir: 'b', depth: 1 });
		assert.equal(await git(sandbox, 'b', 'rev-list --count HEAD'), '1');
		assert.equal(await git(sandbox, 'b', 'ls-files | wc -l'), '20000');
		assert.equal((await sandbox.gitStatus({ path: 'b' })).clean, true);
		/* a failure is told by the stream, too */
		await assert.rejects(sandbox.gitCheckout(url, {
			targetDir: 'c', branch: 'none', onProgress: () => {},
		}), { httpStatus: 404, code: 'GIT_BRANCH_NOT_FOUND' });
	});

test('a redirect takes no credential to another host', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await makeBare(sandbox, 'demo', HISTORY);
	await otherHost(sandbox);
	const url = await serve(sandbox, {
		credential: CREDENTIAL,
		env: { GIT_AWAY: `http://${OTHER}:8123`, GIT_SEEN: '/tmp/here' },
	});

	await assert.rejects(
		sandbox.gitCheckout(`${url}/away/demo.git`, { auth: BOB }),
		{ httpStatus: 502, message: /redirect/ });
	/* without one it goes there, and is asked for that host's own */
	await assert.rejects(sandbox.gitCheckout(`${url}/away/demo.git`),
		{ httpStatus: 401 });
	const there = await seen(sandbox, '/tmp/seen');
	assert.ok(there.length > 0);
	assert.deepEqual(new Set(there), new Set(['none']));
	await sandbox.gitCheckout(`${url}/demo.git`,
		{ auth: BOB, depth: 1 });
	assert.ok((await seen(sandbox, '/tmp/here')).includes(HEADER));
});

test('each submodule\'s host gets its own credential or none', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await makeBare(sandbox, 'inner', HISTORY);
		const inner = await otherHost(sandbox);
		const credentials = [{
			host: inner, type: 'basic', username: 'carol',
			password: 'other-word',
		}];

		await makeBare(sandbox, 'outer', `${HISTORY}
			git -c protocol.file.allow=always submodule --quiet add \
				/tmp/repos/inner.git sub
			git config -f .gitmodules submodule.sub.url ${inner}/inner.git
			git commit -qam sub`);
		const url = `${await serve(sandbox, { credential: CREDENTIAL })
		}/outer.git`;
		await sandbox.gitCheckout(url, { auth: BOB, targetDir: 'a' });
		assert.equal((await sandbox.exists('a/sub/f1')).exists, false);
		assert.deepEqual(await seen(sandbox, '/tmp/seen'), []);
		await assert.rejects(sandbox.gitCheckout(url,
			{ auth: BOB, submodules: true, targetDir: 'b' }),
		{ httpStatus: 401, code: 'GIT_AUTH_FAILED' });
		assert.equal((await sandbox.exists('b')).exists, false);
		assert.deepEqual(new Set(await seen(sandbox, '/tmp/seen')),
			new Set(['none']));
		await sandbox.gitCheckout(url, {
			auth: BOB, submodules: true, credentials, targetDir: 'c',
		});
		assert.equal((await sandbox.readFile('c/sub/f1')).content, '1\n');
		assert.ok(!(await seen(sandbox, '/tmp/seen')).includes(HEADER));
		assert.equal(await git(sandbox, 'c', 'submodule status | cut -c1'),
			'');
	});

/** What anybody in the sandbox could write into a repository's settings. */
const HOSTILE = (here, there) => `
	run='/tmp/run'; printf '#!/bin/sh\\necho $0 $@ >> /tmp/ran\\n' > $run
	chmod +x $run; mkdir -p /tmp/hooks; for hook in pre-commit commit-msg \
		post-checkout post-merge pre-push post-commit pre-merge-commit \
		prepare-commit-msg reference-transaction post-index-change; do
		cp $run /tmp/hooks/$hook; cp $run .git/hooks/$hook; done
	for where in "--global" "--local"; do
		git config $where url.${there}/.insteadOf ${here}/
		git config $where url.${there}/.pushInsteadOf ${here}/
		git config $where http.proxy ${there}
		git config $where credential.helper $run
		git config $where core.sshCommand $run
		git config $where core.fsmonitor $run
		git config $where core.askPass $run
		git config $where core.gitProxy $run
		git config $where core.hooksPath /tmp/hooks
		git config $where gpg.program $run
		git config $where commit.gpgSign true
		git config $where diff.external $run
		git config $where filter.x.clean $run
		git config $where filter.x.smudge $run
		git config $where filter.x.process $run
		git config $where filter.x.required true
		git config $where merge.x.driver $run
		git config $where http.sslVerify false
		git config $where http.followRedirects true
	done
	git config remote.origin.url ${there}/demo.git
	git config remote.origin.pushurl ${there}/demo.git
	git config remote.origin.uploadpack $run
	git config remote.origin.receivepack $run
	git config remote.origin.proxy ${there}
	echo '* filter=x merge=x diff=x' > .git/info/attributes`;

test('settings of a repository send no credential away, and run nothing',
	limit, async (t) => {
		const sandbox = stack.sandbox(t);

		await makeBare(sandbox, 'demo', HISTORY);
		const there = await otherHost(sandbox);
		const here = await serve(sandbox, { credential: CREDENTIAL });
		const repoUrl = `${here}/demo.git`;
		const options = { path: 'a', repoUrl, auth: BOB, author: ME };

		for (const targetDir of ['a', 'b'])
			await sandbox.gitCheckout(repoUrl, { targetDir, auth: BOB });
		await run(sandbox, HOSTILE(here, there), { cwd: 'a' });
		await sandbox.writeFile('/workspace/b/new', 'of b\n');
		await sandbox.gitCommit('new', { path: 'b', all: true, author: ME });
		await sandbox.gitPush({ path: 'b', repoUrl, auth: BOB });
		await sandbox.writeFile('/workspace/a/mine', 'of a\n');
		await sandbox.gitStatus({ path: 'a' });
		await sandbox.gitDiff({ path: 'a' });
		await sandbox.gitCommit('mine', { path: 'a', all: true, author: ME });
		assert.equal((await sandbox.gitPull(options)).result, 'merge');
		assert.equal((await sandbox.gitPush(options)).result, 'pushed');
		await sandbox.gitSwitch('side', { path: 'a', create: true });
		await sandbox.gitCheckout(repoUrl, { targetDir: 'c', auth: BOB });
		assert.equal((await sandbox.exists('/tmp/ran')).exists, false);
		assert.deepEqual(await seen(sandbox, '/tmp/seen'), []);
		/* and in the repository itself there is nothing of it */
		assert.equal(await run(sandbox, 'cd /workspace; grep -rl ' +
			's3cret-word /workspace /root /tmp --exclude=git_server.js ' +
			'|| true'), '');
	});

/** Tells of every process that it is loaded into. */
const SPY = `#include <stdio.h>
#include <errno.h>
__attribute__((constructor)) static void spy(void)
{
	char name[200];
	snprintf(name, sizeof(name), "/tmp/spied-%s",
		 program_invocation_short_name);
	FILE *f = fopen(name, "w");
	if (f) fclose(f);
}
`;

test('programs of the sandbox get to see no credential', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const auth = BOB;

	await makeBare(sandbox, 'demo', `${HISTORY}; git update-server-info`);
	const here = await serve(sandbox, { credential: CREDENTIAL });
	const url = `${here}/demo.git`;
	await sandbox.writeFile('/tmp/spy.c', SPY);
	await run(sandbox, 'gcc -shared -fPIC -D_GNU_SOURCE -o /tmp/spy.so ' +
		'/tmp/spy.c; cp /tmp/spy.so /usr/lib/libnss_spy.so.2');
	/* the program that holds it is nobody's to read or to write */
	const own = await sandbox.exec('cd /opt/warren/bin; id -u; ' +
		'cat warren-git > /dev/null; echo x > warren-git; ' +
		'rm -f warren-git; mv /opt/warren /opt/other; echo done');
	assert.match(own.stdout, /done/);
	assert.equal(own.stderr.trim().split('\n').length, 4, own.stderr);
	/* while it runs, nobody sees what it was told */
	const slow = sandbox.gitCheckout(`${here}/slow/x.git`,
		{ auth, cloneTimeoutMs: 20_000 });
	slow.catch(() => {});
	const peek = await run(sandbox, `
		for i in $(seq 100); do
			pids=$(grep -lsx warren-git /proc/[0-9]*/comm) && break
			sleep 0.1
		done
		set +e
		for comm in $pids; do
			p=$(dirname $comm)
			for f in environ mem maps auxv; do
				head -c 1 $p/$f > /dev/null 2>&1 && echo $p/$f
			done
			ls $p/fd > /dev/null 2>&1 && echo $p/fd
			tr '\\0' ' ' < $p/cmdline | grep s3cret
			kill -9 $(basename $p)
		done; echo tried $(echo $pids | wc -w)`);
	assert.match(peek, /^tried [12]$/);
	await assert.rejects(slow);
	/* libraries that all others load, and a git that is somebody's own */
	await sandbox.writeFile('/etc/nsswitch.conf', 'hosts: spy files dns\n');
	await sandbox.writeFile('/usr/bin/git', '#!/bin/sh\n' +
		'cat /proc/self/fd/* > /tmp/spied-git\n', { });
	await sandbox.writeFile('/etc/ld.so.preload', '/tmp/spy.so\n');
	const named = url.replace('127.0.0.1', 'localhost');
	await sandbox.gitCheckout(named, { auth, targetDir: 'a' });
	await sandbox.gitCheckout(named, { auth, targetDir: 'b', depth: 1 });
	const { files } = await sandbox.listFiles('/tmp');
	const spied = files.map(({ name }) => name)
		.filter((name) => name.startsWith('spied-'));
	assert.ok(spied.length > 0, 'the library was loaded by others');
	assert.ok(!spied.some((name) => /warren/.test(name)), spied.join());
});

/** An SSH server for /tmp/repos: `{url, host, type, print}` of its key. */
async function sshServer(sandbox) {
	const text = await run(sandbox, `
		cd /tmp; mkdir -p -m 700 /root/.ssh
		for name in host client other; do
			dropbearkey -t ed25519 -f $name.db > $name.pub
			dropbearconvert dropbear openssh $name.db $name.pem 2>&1
		done
		grep ^ssh- client.pub > /root/.ssh/authorized_keys
		chmod 600 /root/.ssh/authorized_keys; chmod 700 /root
		grep ^ssh- host.pub`);
	const [type, key] = text.split('\n').at(-1).split(' ');

	const server = await sandbox.startProcess(
		'exec dropbear -F -E -r /tmp/host.db -p 127.0.0.1:2222');
	await server.waitForPort(2222, { mode: 'tcp', timeout: 30_000 });
	return { url: 'ssh://root@127.0.0.1:2222/tmp/repos/demo.git', type, key };
}

test('ssh: a key opens, and only a host that was named is believed', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await makeBare(sandbox, 'demo', HISTORY);
		const { url, type, key } = await sshServer(sandbox);
		const pem = async (name) =>
			(await sandbox.readFile(`/tmp/${name}.pem`)).content;
		const auth = { type: 'ssh', privateKey: await pem('client') };
		const knownHosts = `[127.0.0.1]:2222 ${type} ${key}\n`;
		const clone = (targetDir, options) =>
			sandbox.gitCheckout(url, { targetDir, auth, ...options });
		const unknown = await clone('a').catch((error) => error);

		assert.equal(unknown.code, 'GIT_HOST_KEY_UNKNOWN');
		assert.equal(unknown.httpStatus, 403);
		const [print] = /SHA256:[\w+/]{43}/.exec(unknown.message);
		const wrong = `SHA256:${'A'.repeat(43)}`;
		/* what the sandbox itself believes does not count */
		await sandbox.writeFile('/root/.ssh/known_hosts', knownHosts);
		for (const options of [{ hostKeyFingerprints: [wrong] },
			{ knownHosts: knownHosts.replace(/AAAA.{20}/,
				`AAAA${'B'.repeat(20)}`) },
			{ knownHosts: `@revoked ${knownHosts}${knownHosts}` },
			{}])
			await assert.rejects(clone('a', options),
				{ httpStatus: 403, code: 'GIT_HOST_KEY_UNKNOWN' });
		await assert.rejects(clone('a', {
			hostKeyFingerprints: [print],
			auth: { type: 'ssh', privateKey: await pem('other') },
		}), { httpStatus: 401, code: 'GIT_AUTH_FAILED' });
		await clone('a', { hostKeyFingerprints: [wrong, print] });
		const shallow = await clone('b', { knownHosts, depth: 1 });
		assert.equal(shallow.engine, 'libgit2');
		assert.equal(await git(sandbox, 'b', 'rev-list --count HEAD'), '1');
		await sandbox.writeFile('/workspace/b/new', 'of b\n');
		await sandbox.gitCommit('new', { path: 'b', all: true, author: ME });
		const options = { repoUrl: url, auth, knownHosts };
		assert.equal((await sandbox.gitPush({ path: 'b', ...options }))
			.result, 'pushed');
		assert.equal((await sandbox.gitPull({ path: 'a', ...options }))
			.result, 'fast-forward');
		await assert.rejects(sandbox.gitCheckout(url,
			{ auth: BOB, targetDir: 'c' }), { httpStatus: 400 });
	});
