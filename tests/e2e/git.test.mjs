/**
 * Git: what a clone does and how it fails.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { until, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 120_000 };
const server = await readFile(
	new URL('guest/git_server.js', import.meta.url), 'utf8');

const MAKE_REPOSITORY = `set -e
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b \
	GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b trunk /tmp/repos/work
cd /tmp/repos/work
mkdir bin
printf '#!/bin/sh\\necho ran\\n' > bin/run
chmod +x bin/run
ln -s bin/run link
git add . && git commit -qm one && git tag v1
echo two > two && git add . && git commit -qm two
git checkout -qb dev && echo dev > dev && git add . && git commit -qm dev
git checkout -q trunk
git clone -q --bare /tmp/repos/work /tmp/repos/demo.git
git init -q --bare -b trunk /tmp/repos/empty.git
git -C /tmp/repos/demo.git update-server-info`;

/** A sandbox that serves /tmp/repos; `args` follow the port. */
async function served(t, args = '') {
	const sandbox = stack.sandbox(t);
	const made = await sandbox.exec(MAKE_REPOSITORY,
		{ sessionId: 'maker' });

	assert.equal(made.exitCode, 0, made.stderr);
	await sandbox.writeFile('/tmp/git_server.js', server);
	const process = await sandbox.startProcess(
		`exec node /tmp/git_server.js 8123 ${args}`,
		{ cwd: '/tmp/repos' });
	await process.waitForLog('git server listens', 15_000);
	return sandbox;
}

const URL_BASE = 'http://127.0.0.1:8123';
const DEMO = `${URL_BASE}/demo.git`;

async function git(sandbox, directory, command) {
	const { stdout, stderr, exitCode } = await sandbox.exec(
		`git ${command}`, { cwd: directory });

	assert.equal(exitCode, 0, stderr);
	return stdout.trim();
}

/** Nothing but what was there: no half clone, under any name. */
async function nothingLeft(sandbox) {
	const { files } = await sandbox.listFiles('/workspace',
		{ includeHidden: true });

	assert.deepEqual(files.map((file) => file.name), []);
}

test('without a branch it is the remote\'s, under the URL\'s name', limit,
	async (t) => {
		const sandbox = await served(t);
		const answer = await sandbox.gitCheckout(DEMO);

		assert.equal(answer.branch, 'trunk');
		assert.equal(answer.targetDir, '/workspace/demo');
		assert.equal(answer.repoUrl, DEMO);
		assert.equal(await git(sandbox, 'demo', 'status --porcelain -b'),
			'## trunk...origin/trunk');
		assert.equal(await git(sandbox, 'demo',
			'rev-list --count HEAD'), '2');
		const ran = await sandbox.exec('./link', { cwd: 'demo' });
		assert.equal(ran.stdout, 'ran\n');
		/* the owner is right, so that a commit works as well */
		await git(sandbox, 'demo', '-c user.name=a -c user.email=b ' +
			'commit -q --allow-empty -m three');
	});

test('a branch, a tag and a commit can be asked for', limit, async (t) => {
	const sandbox = await served(t);
	const dev = await sandbox.gitCheckout(DEMO,
		{ branch: 'dev', targetDir: 'd' });

	assert.equal(dev.branch, 'dev');
	assert.equal((await sandbox.exists('d/dev')).exists, true);
	const tag = await sandbox.gitCheckout(DEMO,
		{ branch: 'v1', targetDir: 't' });
	assert.equal(tag.branch, 'v1');
	assert.equal((await sandbox.exists('t/two')).exists, false);
	const id = await git(sandbox, 'd', 'rev-parse v1');
	await sandbox.gitCheckout(DEMO, { branch: id, targetDir: 'c' });
	assert.equal(await git(sandbox, 'c', 'rev-parse HEAD'), id);
});

test('depth 1 has one commit, with a branch too', limit, async (t) => {
	const sandbox = await served(t);

	await sandbox.gitCheckout(DEMO, { depth: 1, targetDir: 'a' });
	assert.equal(await git(sandbox, 'a', 'rev-list --count HEAD'), '1');
	const answer = await sandbox.gitCheckout(DEMO,
		{ depth: 1, branch: 'dev', targetDir: 'b' });
	assert.equal(answer.branch, 'dev');
	assert.equal(await git(sandbox, 'b', 'rev-list --count HEAD'), '1');
});

test('a plain file server is enough', limit, async (t) => {
	const sandbox = await served(t);
	const files = await sandbox.startProcess(
		'exec python3 -um http.server 8124 --bind 127.0.0.1',
		{ cwd: '/tmp/repos' });

	await files.waitForLog('Serving', 15_000);
	const answer = await sandbox.gitCheckout(
		'http://127.0.0.1:8124/demo.git', { branch: 'dev' });
	assert.equal(answer.branch, 'dev');
	assert.equal(await git(sandbox, 'demo', 'status --porcelain'), '');
});

test('an empty repository is cloned', limit, async (t) => {
	const sandbox = await served(t);
	const answer = await sandbox.gitCheckout(`${URL_BASE}/empty.git`);

	assert.equal(answer.success, true);
	assert.match(await git(sandbox, 'empty', 'status'), /No commits yet/);
});

test('what is missing is 404 and leaves nothing', limit, async (t) => {
	const sandbox = await served(t);

	await assert.rejects(sandbox.gitCheckout(`${URL_BASE}/none.git`), {
		httpStatus: 404,
		code: 'GIT_REPOSITORY_NOT_FOUND',
		message: /not found/,
	});
	for (const depth of [undefined, 1])
		await assert.rejects(sandbox.gitCheckout(DEMO,
			{ branch: 'none', depth }),
		{ httpStatus: 404, code: 'GIT_BRANCH_NOT_FOUND' });
	await assert.rejects(sandbox.gitCheckout('http://127.0.0.1:1/x'),
		{ httpStatus: 502, code: 'GIT_NETWORK_ERROR' });
	await nothingLeft(sandbox);
});

test('credentials are asked for, used once and kept nowhere', limit,
	async (t) => {
		const sandbox = await served(t, 'bob:s3cret-word');
		const auth = {
			type: 'basic', username: 'bob', password: 's3cret-word',
		};

		for (const depth of [undefined, 1]) {
			await assert.rejects(sandbox.gitCheckout(DEMO, { depth }),
				{
					httpStatus: 401,
					code: 'GIT_AUTH_FAILED',
					message: /authentication|could not read/i,
				});
			await assert.rejects(sandbox.gitCheckout(DEMO,
				{ depth, auth: { ...auth, password: 'no' } }),
			{ httpStatus: 401 });
		}
		await nothingLeft(sandbox);
		await sandbox.gitCheckout(DEMO, { auth, targetDir: 'a' });
		await sandbox.gitCheckout(DEMO,
			{ auth, depth: 1, targetDir: 'b' });
		const inUrl = await sandbox.gitCheckout(
			'http://bob:s3cret-word@127.0.0.1:8123/demo.git',
			{ targetDir: 'c' });
		assert.equal(inUrl.repoUrl, DEMO);
		const found = await sandbox.exec(
			'grep -r s3cret-word /workspace /root /tmp ' +
			'--exclude=git_server.js');
		assert.equal(found.stdout, '');
	});

test('a used directory is 409 before anything is fetched', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.writeFile('used/file', 'mine');
		await assert.rejects(sandbox.gitCheckout('http://127.0.0.1:1/x',
			{ targetDir: 'used' }),
		{ httpStatus: 409, code: 'FILE_EXISTS' });
		assert.equal((await sandbox.readFile('used/file')).content,
			'mine');
	});

test('a server that does not answer meets the timeout', limit,
	async (t) => {
		const sandbox = await served(t);

		for (const depth of [undefined, 1])
			await assert.rejects(sandbox.gitCheckout(
				`${URL_BASE}/slow/x.git`,
				{ cloneTimeoutMs: 1000, depth }), {
				httpStatus: 502,
				code: 'GIT_NETWORK_ERROR',
				message: /timeout/,
			});
		await nothingLeft(sandbox);
	});

test('a client that leaves ends the clone', limit, async (t) => {
	const sandbox = await served(t);
	const leave = new AbortController();
	const clone = sandbox.gitCheckout(`${URL_BASE}/slow/x.git`,
		{ signal: leave.signal });
	const running = async () => (await sandbox.listFiles('/workspace',
		{ includeHidden: true })).count;

	clone.catch(() => {});
	await until(10_000, 'the clone runs', async () =>
		await running() === 1);
	leave.abort();
	await assert.rejects(clone);
	await until(10_000, 'its directory is gone', async () =>
		await running() === 0);
});

test('bad requests are 400 and say what is wrong', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	for (const url of ['', 'x', '-x', 'ext::sh -c id', 'http://a b/',
		'ssh://-oProxyCommand=id/x'])
		await assert.rejects(sandbox.gitCheckout(url),
			{ httpStatus: 400, code: 'INVALID_GIT_URL' });
	for (const cloneTimeoutMs of [0, -1])
		await assert.rejects(sandbox.gitCheckout(DEMO,
			{ cloneTimeoutMs }), {
			httpStatus: 400,
			message: new RegExp(
				`Invalid.*timeout.*${cloneTimeoutMs}`),
		});
	await assert.rejects(sandbox.gitCheckout(DEMO, { depth: 0 }),
		{ httpStatus: 400, message: /depth/ });
	await assert.rejects(sandbox.gitCheckout(DEMO,
		{ auth: { type: 'token' } }),
	{ httpStatus: 400, message: /auth\.token/ });
});
