/**
 * Git: work on a repository, and exchange with others by files.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { makeBare, run } from './lib/repos.mjs';
import { useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 180_000 };
const ME = { name: 'Ann', email: 'ann@example.com' };
const REMOTE = '/tmp/repos/demo.git';
const HISTORY = 'for i in 1 2 3; do echo $i > f$i; git add .; ' +
	'git commit -qm "c$i"; done; git branch dev';

/** Clones of one repository at /workspace/${names}. */
async function cloned(t, ...names) {
	const sandbox = stack.sandbox(t);

	await makeBare(sandbox, 'demo', HISTORY);
	for (const targetDir of names)
		await sandbox.gitCheckout(REMOTE, { targetDir });
	return sandbox;
}

/** A change of ${file} in ${path}, committed and, with push, given away. */
async function change(sandbox, path, file, content, push) {
	await sandbox.writeFile(`/workspace/${path}/${file}`, content);
	await sandbox.gitCommit(`change ${file}`,
		{ path, all: true, author: ME });
	if (push)
		await sandbox.gitPush({ path });
}

/** What assert.rejects() takes: 409 ${code}, because of ${paths}. */
const inTheWay = (code, paths) => (error) => {
	assert.equal(error.code, code);
	assert.equal(error.httpStatus, 409);
	assert.deepEqual(error.context.paths, paths);
	return true;
};

const content = async (sandbox, path) =>
	(await sandbox.readFile(`/workspace/${path}`)).content;

test('a change is seen, committed, told of and compared', limit,
	async (t) => {
		const sandbox = await cloned(t, 'a');
		const path = 'a';
		const before = await sandbox.gitStatus({ path });

		assert.equal(before.branch, 'main');
		assert.equal(before.path, '/workspace/a');
		assert.equal(before.clean, true);
		assert.deepEqual([before.upstream, before.ahead, before.behind],
			['origin/main', 0, 0]);
		await sandbox.writeFile('/workspace/a/f1', 'one\n');
		await sandbox.writeFile('/workspace/a/sub/new', 'x\ny\n');
		await run(sandbox, 'rm f2; git mv f3 f4', { cwd: 'a' });
		const { files } = await sandbox.gitStatus({ path });
		assert.deepEqual(files.map((file) =>
			[file.path, file.oldPath, file.index, file.worktree]), [
			['f1', undefined, 'unmodified', 'modified'],
			['f2', undefined, 'unmodified', 'deleted'],
			['f4', 'f3', 'renamed', 'unmodified'],
			['sub/new', undefined, 'unmodified', 'untracked'],
		]);
		const diff = await sandbox.gitDiff({ path, paths: ['f1'] });
		assert.deepEqual([diff.additions, diff.deletions], [1, 1]);
		assert.match(diff.patch, /^-1\n\+one$/m);
		assert.equal((await sandbox.gitDiff({ path, staged: true }))
			.files[0].status, 'renamed');
		const first = await sandbox.gitCommit('two files',
			{ path, paths: ['f1', 'f2'], author: ME });
		assert.deepEqual(first.files, ['f1', 'f2', 'f3', 'f4']);
		const rest = await sandbox.gitCommit('the rest\n\nof it',
			{ path, all: true, author: ME });
		assert.deepEqual(rest.files, ['sub/new']);
		const after = await sandbox.gitStatus({ path });
		assert.deepEqual([after.clean, after.ahead, after.commit],
			[true, 2, rest.commit]);
		const { commits, truncated } =
			await sandbox.gitLog({ path, limit: 2 });
		assert.equal(truncated, true);
		assert.deepEqual(commits.map(({ id }) => id),
			[rest.commit, first.commit]);
		assert.deepEqual(commits[0].parents, [first.commit]);
		assert.equal(commits[0].message, 'the rest\n\nof it\n');
		assert.equal(commits[0].subject, 'the rest');
		assert.equal(commits[0].author.email, ME.email);
		assert.equal((await sandbox.gitLog({ path, paths: ['f1'] }))
			.commits.length, 2);
		assert.deepEqual((await sandbox.gitDiff({
			path, from: 'HEAD~1', to: 'HEAD', patch: false,
		})).files, [{
			path: 'sub/new', status: 'added', additions: 2,
			deletions: 0, binary: false,
		}]);
		/* and git itself finds the same, with nothing to complain of */
		assert.equal(await run(sandbox, 'git fsck 2>&1; ' +
			'git status --porcelain 2>&1', { cwd: 'a' }), '');
	});

test('branches are listed, made and gone to', limit, async (t) => {
	const sandbox = await cloned(t, 'a');
	const path = 'a';
	const made = await sandbox.gitCreateBranch('topic',
		{ path, from: 'HEAD~1', switch: true });

	assert.equal(made.branch, 'topic');
	assert.equal((await sandbox.exists('/workspace/a/f3')).exists, false);
	const dev = await sandbox.gitSwitch('dev', { path });
	assert.deepEqual([dev.branch, dev.created], ['dev', true]);
	const { branches } = await sandbox.gitBranches({ path, remote: true });
	assert.deepEqual(branches.map(({ name, current, remote, upstream }) =>
		[name, current, remote, upstream]), [
		['dev', true, false, 'origin/dev'],
		['main', false, false, 'origin/main'],
		['topic', false, false, undefined],
		['origin/dev', false, true, undefined],
		['origin/main', false, true, undefined],
	]);
	const detached = await sandbox.gitSwitch('HEAD~2',
		{ path, detach: true });
	assert.equal(detached.branch, null);
	assert.equal((await sandbox.gitStatus({ path })).detached, true);
	await assert.rejects(sandbox.gitCreateBranch('topic', { path }),
		{ httpStatus: 409, code: 'GIT_BRANCH_EXISTS' });
	await assert.rejects(sandbox.gitSwitch('none', { path }),
		{ httpStatus: 404, code: 'GIT_BRANCH_NOT_FOUND' });
	/* what is not committed is not lost to a branch, unless it may be */
	await run(sandbox, 'git checkout -qf main; git checkout -qB other; ' +
		'echo 9 > f1; git commit -qam nine; git checkout -q main; ' +
		'echo mine > f1', { cwd: 'a' });
	await assert.rejects(sandbox.gitSwitch('other', { path }),
		inTheWay('GIT_UNCOMMITTED_CHANGES', ['f1']));
	assert.equal(await content(sandbox, 'a/f1'), 'mine\n');
	await sandbox.gitSwitch('other', { path, force: true });
	assert.equal(await content(sandbox, 'a/f1'), '9\n');
});

test('a push goes on from what is there, or says that it does not', limit,
	async (t) => {
		const sandbox = await cloned(t, 'a', 'b');

		await change(sandbox, 'a', 'f1', 'of a\n');
		const pushed = await sandbox.gitPush({ path: 'a' });
		assert.deepEqual([pushed.result, pushed.remote,
			pushed.remoteBranch], ['pushed', 'origin', 'main']);
		assert.equal((await sandbox.gitPush({ path: 'a' })).result,
			'up-to-date');
		assert.equal((await sandbox.gitStatus({ path: 'a' })).ahead, 0);
		await change(sandbox, 'b', 'f2', 'of b\n');
		await assert.rejects(sandbox.gitPush({ path: 'b' }), {
			httpStatus: 409,
			code: 'GIT_PUSH_REJECTED',
			message: /non-fast-forward.*pull/,
		});
		assert.equal(await run(sandbox,
			`git -C ${REMOTE} rev-parse main`), pushed.commit);
		const made = await sandbox.gitPush({
			path: 'b', remoteBranch: 'of-b', setUpstream: true,
		});
		assert.equal(made.result, 'created');
		assert.equal((await sandbox.gitStatus({ path: 'b' })).upstream,
			'origin/of-b');
		const forced = await sandbox.gitPush({
			path: 'b', remoteBranch: 'main', force: true,
		});
		assert.equal(forced.before, pushed.commit);
		assert.equal(await run(sandbox,
			`git -C ${REMOTE} rev-parse main`), forced.commit);
	});

test('a pull moves forward or merges', limit, async (t) => {
	const sandbox = await cloned(t, 'a', 'b');

	assert.equal((await sandbox.gitPull({ path: 'b' })).result,
		'up-to-date');
	await change(sandbox, 'a', 'f1', 'of a\n', true);
	const forward = await sandbox.gitPull({ path: 'b' });
	assert.equal(forward.result, 'fast-forward');
	assert.equal(await content(sandbox, 'b/f1'), 'of a\n');
	await change(sandbox, 'a', 'f1', 'again\n', true);
	await change(sandbox, 'b', 'f2', 'of b\n');
	await assert.rejects(sandbox.gitPull({ path: 'b', ffOnly: true }),
		{ httpStatus: 409, code: 'GIT_DIVERGED' });
	const merged = await sandbox.gitPull({ path: 'b', author: ME });
	assert.equal(merged.result, 'merge');
	const [{ id, parents }] = (await sandbox.gitLog({ path: 'b' })).commits;
	assert.equal(id, merged.commit);
	assert.equal(parents.length, 2);
	assert.equal(await content(sandbox, 'b/f1'), 'again\n');
	assert.equal(await content(sandbox, 'b/f2'), 'of b\n');
	assert.equal((await sandbox.gitStatus({ path: 'b' })).clean, true);
});

test('a pull that conflicts says where, and changes nothing', limit,
	async (t) => {
		const sandbox = await cloned(t, 'a', 'b');

		await change(sandbox, 'a', 'f1', 'of a\n', true);
		await change(sandbox, 'b', 'f1', 'of b\n');
		const before = await sandbox.gitStatus({ path: 'b' });
		await assert.rejects(
			sandbox.gitPull({ path: 'b', author: ME }),
			inTheWay('GIT_MERGE_CONFLICT', ['f1']));
		/* a file that would be overwritten is as much in the way */
		await run(sandbox, 'git reset -q --hard HEAD~1; echo d > f1',
			{ cwd: 'b' });
		await assert.rejects(sandbox.gitPull({ path: 'b' }),
			inTheWay('GIT_UNCOMMITTED_CHANGES', ['f1']));
		assert.equal(await content(sandbox, 'b/f1'), 'd\n');
		await run(sandbox, `git checkout -q f1; git reset -q --hard ${
			before.commit}`, { cwd: 'b' });
		const after = await sandbox.gitStatus({ path: 'b' });
		assert.deepEqual([after.commit, after.clean, after.operation],
			[before.commit, true, undefined]);
		assert.equal(await content(sandbox, 'b/f1'), 'of b\n');
	});

test('an empty repository gets its first commit', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await run(sandbox, 'git init -q --bare -b trunk /tmp/empty.git');
	for (const targetDir of ['a', 'b'])
		await sandbox.gitCheckout('/tmp/empty.git', { targetDir });
	const status = await sandbox.gitStatus({ path: 'a' });
	assert.equal(status.commit, null);
	assert.deepEqual((await sandbox.gitLog({ path: 'a' })).commits, []);
	await change(sandbox, 'a', 'f', 'first\n');
	const { result, branch } = await sandbox.gitPush({ path: 'a' });
	assert.equal(result, 'created');
	assert.equal((await sandbox.gitPull({ path: 'b', branch })).result,
		'fast-forward');
	assert.equal(await content(sandbox, 'b/f'), 'first\n');
});

test('what cannot be done is told by its reason', limit, async (t) => {
	const sandbox = await cloned(t, 'a');
	const path = 'a';

	for (const call of [() => sandbox.gitStatus({ path: '/tmp' }),
		() => sandbox.gitLog({ path: 'none' })])
		await assert.rejects(call, {
			httpStatus: 404, code: 'GIT_REPOSITORY_NOT_FOUND',
		});
	await assert.rejects(sandbox.gitCommit('x', { path, author: ME }),
		{ httpStatus: 409, code: 'GIT_NOTHING_TO_COMMIT' });
	await assert.rejects(sandbox.gitCommit('x', { path, allowEmpty: true }),
		{ httpStatus: 400, message: /author/ });
	await sandbox.gitCommit('x', { path, allowEmpty: true, author: ME });
	for (const bad of ['../x', '/etc/passwd', 'a/../../x'])
		await assert.rejects(sandbox.gitCommit('x',
			{ path, paths: [bad], author: ME }),
		{ httpStatus: 400, message: /paths/ });
	await assert.rejects(sandbox.gitCommit('x',
		{ path, paths: ['no such file'], author: ME }),
	{ httpStatus: 400, message: /no such file/ });
	for (const name of ['-x', 'a..b', 'x y', 'a.lock'])
		await assert.rejects(sandbox.gitCreateBranch(name, { path }),
			{ httpStatus: 400 }, name);
	await assert.rejects(sandbox.gitPull({ path, remote: 'none' }),
		{ httpStatus: 404, message: /no remote 'none'/ });
	await assert.rejects(sandbox.gitPull({
		path, auth: { type: 'token', token: 'secret' },
	}), { httpStatus: 400, message: /repoUrl is needed with auth/ });
	await run(sandbox, 'git config remote.origin.url "ext::touch /tmp/ran"',
		{ cwd: path });
	for (const call of [() => sandbox.gitPull({ path }),
		() => sandbox.gitPush({ path })])
		await assert.rejects(call, { httpStatus: 400 });
	assert.equal((await sandbox.exists('/tmp/ran')).exists, false);
});

test('files of Git LFS are told as such, never mixed up', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await makeBare(sandbox, 'demo',
			'echo "*.bin filter=lfs diff=lfs" > .gitattributes; ' +
			'printf "version https://git-lfs.github.com/spec/v1\n" ' +
			'> a.bin; git add .; git commit -qm lfs');
		await assert.rejects(sandbox.gitCheckout(REMOTE, { lfs: true }),
			{ httpStatus: 501, code: 'GIT_LFS_NOT_SUPPORTED' });
		const answer = await sandbox.gitCheckout(REMOTE,
			{ targetDir: 'a' });
		assert.equal(answer.lfsPointers, true);
		await sandbox.writeFile('/workspace/a/b.bin', 'large');
		await assert.rejects(sandbox.gitCommit('x',
			{ path: 'a', all: true, author: ME }), {
			httpStatus: 501,
			code: 'GIT_LFS_NOT_SUPPORTED',
			message: /b\.bin/,
		});
	});
