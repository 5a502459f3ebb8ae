/**
 * Backups by the public client: behaviours 62 to 65 of its wire, as far as
 * they reach a server.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { limit, useWire } from './client.mjs';

const wire = useWire();
const ARCHIVE = '/var/backups/one.sqsh';

async function sh(client, command) {
	const { stdout, stderr, exitCode } = await client.commands.execute(
		`cd /workspace && {\n${command}\n}`, 's');

	assert.equal(exitCode, 0, stderr);
	return stdout;
}

test('62 backup: a nested tree, empty directories and odd names come back',
	limit, async (t) => {
		const client = wire.client(t);
		const sums = 'find . -type f -print0 | sort -z | xargs -0 sha256sum; ' +
			'find . -type d | sort';

		await sh(client, 'mkdir -p d/a/b/c d/empty "d/with space"; ' +
			'echo 1 >d/a/b/c/f; echo 2 >"d/with space/日本語 ü.txt"');
		const want = await sh(client, `cd d; ${sums}`);
		const made = await client.backup.createArchive('/workspace/d',
			ARCHIVE, 's');
		assert.equal(made.success, true);
		assert.equal(made.archivePath, ARCHIVE);
		assert.ok(made.sizeBytes > 0);
		await sh(client, 'rm -rf d');
		const back = await client.backup.restoreArchive('/workspace/d',
			ARCHIVE, 's');
		assert.equal(back.success, true);
		assert.equal(back.dir, '/workspace/d');
		assert.equal(await sh(client, `cd d; ${sums}`), want);
		await client.backup.restoreArchive('/workspace/other', ARCHIVE, 's');
		assert.equal(await sh(client, `cd other; ${sums}`), want);
	});

test('63 backup: git\'s rules and globs count when they are asked for', limit,
	async (t) => {
		const client = wire.client(t);

		await sh(client, 'git init -q d; mkdir -p d/sub; cd d; ' +
			'echo "*.log" >.gitignore; echo "x*" >sub/.gitignore; ' +
			'touch a.log keep sub/x1 sub/keep b.tmp');
		for (const [options, want] of [
			[{}, '.gitignore a.log b.tmp keep sub sub/.gitignore sub/keep ' +
				'sub/x1'],
			[{ gitignore: true, excludes: ['*.tmp'] },
				'.gitignore keep sub sub/.gitignore sub/keep'],
		]) {
			await client.backup.createArchive('/workspace/d', ARCHIVE, 's',
				{ ...options, compression: { format: 'lz4', threads: 8 } });
			await client.backup.restoreArchive('/tmp/o', ARCHIVE, 's');
			assert.equal((await sh(client, 'cd /tmp/o; find . -name .git ' +
				'-prune -o -mindepth 1 -printf "%P\\n" | LC_ALL=C sort'))
				.trim().split('\n').join(' '), want);
		}
	});

test('64 backup: what is unknown or cannot be is an error of its own class',
	limit, async (t) => {
		const client = wire.client(t);

		await sh(client, 'mkdir d');
		await assert.rejects(client.backup.restoreArchive('/workspace/d',
			'/var/backups/none', 's'),
		{ name: 'BackupNotFoundError', httpStatus: 404 });
		for (const [dir, archive] of [['d', ARCHIVE],
			['/workspace/../d', ARCHIVE], ['/workspace/d', '/tmp/x'],
			['/workspace/d', '/var/backups/../x']])
			await assert.rejects(client.backup.createArchive(dir, archive,
				's'), { name: 'InvalidBackupConfigError', httpStatus: 400 });
	});

test('65 backup: one that is made again under its name is the later one',
	limit, async (t) => {
		const client = wire.client(t);

		for (const text of ['first', 'second']) {
			await sh(client, `mkdir -p d; echo ${text} >d/f`);
			await client.backup.createArchive('/workspace/d', ARCHIVE, 's');
		}
		await sh(client, 'echo third >d/f');
		await client.backup.restoreArchive('/workspace/d', ARCHIVE, 's');
		assert.equal(await sh(client, 'cat d/f'), 'second\n');
	});
