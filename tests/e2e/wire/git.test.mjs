/**
 * Clones of the public client: behaviour 61 of its wire, on repositories that
 * the sandbox itself serves.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { guest } from '../stack.mjs';
import { limit, logged, useWire } from './client.mjs';

const wire = useWire();
const BASE = 'http://127.0.0.1:8123';
const MAKE = `set -e
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b \
	GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b trunk /tmp/repos/work
cd /tmp/repos/work
for i in 1 2 3; do echo $i > f; git add .; git commit -qm $i; done
git checkout -qb dev; echo dev > f; git commit -qam dev
git checkout -q trunk
git clone -q --bare . ../demo.git`;

/** A client whose sandbox serves /tmp/repos; `args` follow the port. */
async function served(t, args = '') {
	const client = wire.client(t);
	const made = await client.commands.execute(MAKE, 'maker');

	assert.equal(made.exitCode, 0, made.stderr);
	await client.files.writeFile('/tmp/git_server.js',
		await guest('git_server.js'), 's');
	const { processId } = await client.processes.startProcess(
		`exec node /tmp/git_server.js 8123 ${args}`, 's',
		{ cwd: '/tmp/repos' });
	await logged(client, processId, 'git server listens');
	return client;
}

async function git(client, directory, command) {
	const { stdout, stderr, exitCode } = await client.commands.execute(
		`git ${command}`, 's', { cwd: `/workspace/${directory}` });

	assert.equal(exitCode, 0, stderr);
	return stdout.trim();
}

test('61 git: a clone has the files and says where they are', limit,
	async (t) => {
		const client = await served(t);
		const answer = await client.git.checkout(`${BASE}/demo.git`, 's');

		assert.equal(answer.success, true);
		assert.equal(answer.repoUrl, `${BASE}/demo.git`);
		assert.equal(answer.branch, 'trunk');
		assert.equal(answer.targetDir, '/workspace/demo');
		assert.equal((await client.files.readFile('/workspace/demo/f',
			's')).content, '3\n');
	});

test('61 git: depth 1 has one commit, with a branch too', limit,
	async (t) => {
		const client = await served(t);
		const count = (directory) =>
			git(client, directory, 'rev-list --count HEAD');

		await client.git.checkout(`${BASE}/demo.git`, 's',
			{ depth: 1, targetDir: '/workspace/one' });
		assert.equal(await count('one'), '1');
		const dev = await client.git.checkout(`${BASE}/demo.git`, 's',
			{ depth: 1, branch: 'dev', targetDir: '/workspace/dev' });
		assert.equal(dev.branch, 'dev');
		assert.equal(await count('dev'), '1');
		assert.equal((await client.files.readFile('/workspace/dev/f',
			's')).content, 'dev\n');
	});

test('61 git: what is missing has an error class of its own', limit,
	async (t) => {
		const client = await served(t);

		await assert.rejects(client.git.checkout(`${BASE}/none.git`, 's'), {
			name: 'GitRepositoryNotFoundError',
			message: /not found|does not exist|repository|fatal/i,
		});
		await assert.rejects(client.git.checkout(`${BASE}/demo.git`, 's',
			{ branch: 'none' }), { name: 'GitBranchNotFoundError' });
		await assert.rejects(client.git.checkout('http://127.0.0.1:1/x',
			's'), { name: 'GitNetworkError', httpStatus: 502 });
		await assert.rejects(client.git.checkout('not a url', 's'),
			{ name: 'InvalidGitUrlError', httpStatus: 400 });
		for (const name of ['none', 'demo', 'x'])
			assert.equal((await client.files.exists(
				`/workspace/${name}`, 's')).exists, false);
	});

test('61 git: a private repository is told as one', limit, async (t) => {
	const client = await served(t, 'bob:secret');

	await assert.rejects(client.git.checkout(`${BASE}/demo.git`, 's'), {
		name: 'GitAuthenticationError',
		httpStatus: 401,
		message:
			/authentication|permission|access|denied|fatal|not found/i,
	});
});

test('61 git: a server that does not answer meets the timeout', limit,
	async (t) => {
		const client = await served(t);

		await assert.rejects(client.git.checkout(`${BASE}/slow/x.git`, 's',
			{ timeoutMs: 1000 }), { name: 'GitNetworkError' });
		assert.equal((await client.files.exists('/workspace/x', 's'))
			.exists, false);
	});
