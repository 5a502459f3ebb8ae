/**
 * Git: servers that lie and repositories that were made by hand. Whatever they
 * hold, a clone is refused or stays where it was asked for.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { run, serve } from './lib/repos.mjs';
import { guest, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 240_000 };
const COMMIT = 'c'.repeat(40);

/** What there is of "escape" outside ${dir}, and what is run out of .git. */
const escaped = (sandbox, dir) => run(sandbox,
	'find / /tmp /workspace -xdev -name "escape*" ' +
	`-not -path "${dir}/*" 2>/dev/null || :\n` +
	`find ${dir}/.git/hooks -not -name "*.sample" -type f 2>/dev/null || :`,
	{ cwd: '/' });

const file = (name, text = 'x') => ['100644', name, text];
const dir = (name, ...rows) => ['40000', name, rows];
const link = (name, to) => ['120000', name, to];
const hook = ['100755', 'post-checkout', '#!/bin/sh\ntouch /tmp/escape'];
const module = (path, url) => [file('.gitmodules',
	`[submodule "m"]\n\tpath = ${path}\n\turl = ${url}\n`)];

const TREES = {
	'a tree called ..': [dir('..', file('escape'))],
	'.. on the way': [dir('a', dir('..', dir('..', file('escape'))))],
	'a name with ..': [file('../escape')],
	'an absolute name': [file('/tmp/escape')],
	'a name with a slash': [file('a/../../escape')],
	'a tree called .': [dir('.', file('escape'))],
	'no name': [file('', 'escape')],
	'a .git of its own': [dir('.git', dir('hooks', hook))],
	'a .git below': [dir('a', dir('.git', dir('hooks', hook)))],
	'a .GIT': [dir('.GIT', dir('hooks', hook))],
	'a .git by NTFS\' names': [dir('git~1', dir('hooks', hook))],
	'a link and a tree of one name': [link('a', '/tmp'),
		dir('a', file('escape'))],
	'a tree and a link of one name': [dir('a', file('escape')),
		link('a', '/tmp')],
	'a link to its .git': [link('a', '.git/hooks'), dir('a', hook)],
	'a .git that is a link': [link('.git', '/tmp')],
	'a .gitmodules that is a link': [link('.gitmodules', '/etc/passwd')],
	'a name of 4 KiB': [file('n'.repeat(4096))],
	'a mode that is none': [['777', 'escape', 'x'], ['0', 'b', 'x']],
};

const MODULES = {
	'a path upwards': module('../escape', 'http://127.0.0.1:8123/none.git'),
	'an option for a URL': module('m', '-u./escape'),
	'a program for a URL': module('m', 'ext::sh -c touch% /tmp/escape'),
	'a name upwards': [file('.gitmodules', '[submodule "../../hooks"]\n' +
		'\tpath = m\n\turl = http://127.0.0.1:8123/none.git\n')],
	'a path into .git': module('.git/hooks',
		'http://127.0.0.1:8123/none.git'),
};

test('no tree that was made by hand gets out of its clone', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const trees = Object.entries(TREES);
		const modules = Object.entries(MODULES).map(([how, rows]) => [how,
			[...rows, ['160000', /path = (.*)/.exec(rows[0][2])[1], COMMIT]]]);
		const all = [...trees, ...modules];

		await sandbox.writeFile('/tmp/hostile_repo.py',
			await guest('hostile_repo.py'));
		await sandbox.writeFile('/tmp/all.json', JSON.stringify(
			all.map(([, rows]) => JSON.stringify(rows))));
		await run(sandbox, 'mkdir /tmp/repos; cd /tmp; python3 -c "' +
			'import json, subprocess\n' +
			'for n, rows in enumerate(json.load(open(\'all.json\'))):\n' +
			'    subprocess.run([\'python3\', \'hostile_repo.py\',\n' +
			'        f\'repos/{n}.git\', rows], check=True)"');
		const url = await serve(sandbox);
		const seen = {};

		for (const [n, [how]] of all.entries()) {
			const made = await sandbox.gitCheckout(`${url}/${n}.git`, {
				targetDir: `/workspace/d/t${n}`, timeoutMs: 60_000,
				submodules: n >= trees.length,
			}).then(() => 'cloned', ({ code }) => code);

			seen[how] = made;
			assert.equal(await escaped(sandbox, `/workspace/d/t${n}`), '',
				how);
			assert.match(made, /^(cloned|GIT_\w+|VALIDATION_FAILED)$/, how);
			/* Refused is gone; none of them is refused as a whole. */
			assert.equal((await sandbox.exists(`/workspace/d/t${n}`)).exists,
				made === 'cloned', how);
		}
		t.diagnostic(JSON.stringify(seen));
		assert.equal(await run(sandbox, 'ls -A /workspace; ls -A d | ' +
			'grep -v ^t || :'), 'd');
	});

test('a server that lies is refused in time, and leaves nothing', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.writeFile('/tmp/git_liar.js', await guest('git_liar.js'));
		const server = await sandbox.startProcess(
			'exec node /tmp/git_liar.js 8124');
		const { line } = await server.waitForLog('lies: ', 30_000);
		const lies = line.slice('lies: '.length).trim().split(',');

		assert.ok(lies.length >= 12);
		for (const how of lies) {
			const endless = how.startsWith('endless');
			const { code, httpStatus } = await sandbox.gitCheckout(
				`http://127.0.0.1:8124/${how}/demo.git`, {
					targetDir: `/workspace/${how}`,
					cloneTimeoutMs: endless ? 2_000 : 60_000,
				}).then(() => ({ code: 'cloned' }), (error) => error);

			assert.match(code, /^GIT_(CLONE_FAILED|NETWORK_ERROR|\w+FAILED)$/,
				how);
			assert.ok(httpStatus >= 400, how);
			assert.equal(await escaped(sandbox, '/none'), '', how);
			assert.equal(await run(sandbox, 'ls -A /workspace'), '', how);
		}
		/* It is as usable as before. */
		assert.equal((await sandbox.exec('echo fine')).stdout, 'fine\n');
	});
