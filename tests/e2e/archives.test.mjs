/**
 * Directories as archives, and what archives try.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { guest, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 120_000 };
const FORMATS = ['tar', 'tar.gz', 'tar.zst', 'zip'];
const run = promisify(execFile);

const archive = (method, sandbox, path, body) => stack.call(method,
	`/v1/sandboxes/${sandbox.name}/archive/${path}`, body);
const tree = async (sandbox, path) => {
	await sandbox.writeFile('/tmp/tree.py', await guest('tree.py'));
	const { stdout, exitCode, stderr } =
		await sandbox.exec(`python3 /tmp/tree.py show ${path}`);
	assert.equal(exitCode, 0, stderr);
	return stdout;
};

/** An archive that Python's tarfile or zipfile makes of ${entries}. */
async function made(format, entries) {
	const { stdout } = await run('python3',
		[new URL('guest/make_archive.py', import.meta.url).pathname,
			format, JSON.stringify(entries)],
		{ encoding: 'buffer', maxBuffer: 64 << 20 });

	return stdout;
}

test('random trees survive every format, and lists and raw files', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.writeFile('/tmp/tree.py', await guest('tree.py'));
		for (let seed = 1; seed <= 6; seed++) {
			const grown = await sandbox.exec(
				`python3 /tmp/tree.py grow t${seed} ${seed}`);
			assert.equal(grown.exitCode, 0, grown.stderr);
			const want = await tree(sandbox, `t${seed}`);
			assert.ok(want.length > 1000);
			for (const format of FORMATS) {
				const got = await archive('GET', sandbox,
					`t${seed}?format=${format}`);
				assert.equal(got.status, 200);
				const to = `u${seed}-${format}`;
				const put = await archive('PUT', sandbox,
					`${to}?links=all`, got.bytes);
				assert.equal(put.status, 200, put.text);
				assert.equal(await tree(sandbox, to), want,
					`seed ${seed}, ${format}`);
			}
			await sameByFiles(sandbox, `t${seed}`);
		}
	});

/* Each file that the list tells, by its bytes, up and down again. */
async function sameByFiles(sandbox, path) {
	const { files } = await sandbox.listFiles(`/workspace/${path}`,
		{ recursive: true, includeHidden: true });
	const bytes = (f) => f.relativePathBase64 !== undefined
		? Buffer.from(f.relativePathBase64, 'base64')
		: Buffer.from(f.relativePath);
	const url = (f, root) => `/v1/sandboxes/${sandbox.name}/files/${root}/` +
		[...bytes(f)].map((b) => '%' +
			b.toString(16).padStart(2, '0')).join('');

	for (const f of files.filter((row) => row.type === 'file')) {
		const read = await stack.call('GET', url(f, path));
		assert.equal(read.bytes.length, f.size);
		const put = await stack.call('PUT', url(f, `${path}-raw`),
			read.bytes);
		assert.equal(put.status, 201);
		const again = await stack.call('GET', url(f, `${path}-raw`));
		assert.deepEqual(again.bytes, read.bytes);
	}
}

test('archives of tar, Python and zip are read, and theirs read ours',
	limit, async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.exec('mkdir -p s/d; echo ü >s/d/ü; ln -s d/ü s/l; ' +
			'chmod 750 s/d/ü; for f in tar tar.gz tar.xz tar.bz2; do ' +
			'tar -caf $f -C s .; done; ' +
			'python3 -c "import shutil; ' +
			'shutil.make_archive(\'z\', \'zip\', \'s\')"');
		const want = await tree(sandbox, 's');
		for (const name of ['tar', 'tar.gz', 'tar.xz', 'tar.bz2']) {
			const { bytes } = await stack.call('GET',
				`/v1/sandboxes/${sandbox.name}/files/${name}`);
			const put = await archive('PUT', sandbox, `o/${name}`, bytes);
			assert.equal(put.status, 200, put.text);
			assert.deepEqual(put.json, { path: `o/${name}`, entries: 4,
				bytes: 3 });
			assert.equal(await tree(sandbox, `o/${name}`), want);
		}
		const { bytes } = await stack.call('GET',
			`/v1/sandboxes/${sandbox.name}/files/z.zip`);
		assert.equal((await archive('PUT', sandbox, 'o/z', bytes)).status,
			200);
		for (const format of FORMATS) {
			const got = await archive('GET', sandbox,
				`s?format=${format}`);
			assert.equal(got.headers['content-disposition'],
				`inline; filename="s.${format}"; ` +
				`filename*=UTF-8''s.${format}`);
			await stack.call('PUT',
				`/v1/sandboxes/${sandbox.name}/files/a.${format}`,
				got.bytes);
		}
		const read = await sandbox.exec('mkdir x y z; ' +
			'tar -xf a.tar -C x; tar -xzf a.tar.gz -C y; ' +
			'python3 -m zipfile -e a.zip z; cat x/l y/l z/d/ü');
		assert.equal(read.stdout, 'ü\nü\nü\n', read.stderr);
	});

const ESCAPES = {
	'by ..': [{ name: '../out', data: 'x' }],
	'by .. inside': [{ name: 'a/../../out', data: 'x' }],
	'by an absolute path': [{ name: '/tmp/out', data: 'x' }],
	'through a link': [{ name: 'l', link: '/tmp' },
		{ name: 'l/out', data: 'x' }],
	'through a link inside': [{ name: 'd', dir: true },
		{ name: 'l', link: 'd' }, { name: 'l/out', data: 'x' }],
	'by a link': [{ name: 'l', link: '/etc/passwd' }],
	'by a link upwards': [{ name: 'd/l', link: '../../x' }],
	'by a chain of links': [{ name: 'p/q/l', link: '../..' },
		{ name: 'm', link: 'p/q/l/../x' }],
	'by a hard link': [{ name: 'h', hard: '/etc/passwd' }],
	'by a hard link upwards': [{ name: 'h', hard: '../kept' }],
	'by a hard link to a link': [{ name: 'l', link: 'x' },
		{ name: 'h', hard: 'l' }],
	'by a device': [{ name: 'c', device: true }],
	'by a pipe': [{ name: 'p', pipe: true }],
};

for (const [how, entries] of Object.entries(ESCAPES))
	test(`an archive does not get out ${how}, and leaves nothing`, limit,
		async (t) => {
			const sandbox = stack.sandbox(t);

			await sandbox.exec('mkdir t; echo old >t/first; echo k >kept');
			const bytes = await made('tar',
				[{ name: 'first', data: 'new' }, ...entries]);
			const put = await archive('PUT', sandbox, 't', bytes);
			assert.equal(put.status, 400);
			assert.equal(put.json.code, 'INVALID_ARCHIVE');
			const { stdout } = await sandbox.exec(
				'find t | sort; cat t/first; ls /tmp/out out');
			assert.equal(stdout, 't\nt/first\nold\n');
		});

test('zip files are held to the same', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	for (const how of ['by ..', 'by .. inside', 'by an absolute path',
		'through a link', 'by a link']) {
		const bytes = await made('zip', ESCAPES[how]);
		const put = await archive('PUT', sandbox, 't', bytes);
		assert.equal(put.json.code, 'INVALID_ARCHIVE', how);
	}
	assert.equal((await sandbox.exec('find t')).stdout, 't\n');
});

test('honest links inside are kept', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const bytes = await made('tar', [
		{ name: 'a/f', data: 'x' }, { name: 'l', link: 'a/f' },
		{ name: 'a/up', link: '../a/f' }, { name: 'loop', link: 'loop' },
		{ name: 'dangling', link: 'none' }, { name: 'h', hard: 'a/f' },
		{ name: 'venv', link: '/usr/bin/python3' },
	]);

	assert.equal((await archive('PUT', sandbox, 't', bytes)).status, 400);
	const put = await archive('PUT', sandbox, 't?links=all', bytes);
	assert.equal(put.status, 200);
	const { stdout } = await sandbox.exec('cat t/l t/a/up t/h; ' +
		'readlink t/loop t/dangling t/venv; stat -c %h t/h');
	assert.equal(stdout, 'xxxloop\nnone\n/usr/bin/python3\n2\n');
});

test('an archive is laid over what is there, or nothing of it', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.exec('mkdir -p t/d t/x; echo 1 >t/d/a; echo 1 >t/keep');
		const over = await archive('PUT', sandbox, 't', await made('tar',
			[{ name: 'd/a', data: '2' }, { name: 'd/b', data: '2' },
				{ name: 'new/c', data: '2' }]));
		assert.equal(over.status, 200);
		assert.equal((await sandbox.exec('cd t; cat d/a d/b new/c keep'))
			.stdout, '2221\n');
		const clash = await archive('PUT', sandbox, 't', await made('tar',
			[{ name: 'd/a', data: '3' }, { name: 'x', data: '3' }]));
		assert.equal(clash.json.code, 'INVALID_ARCHIVE');
		await sandbox.exec('cd /workspace/t; ln -s /tmp away');
		const away = await archive('PUT', sandbox, 't', await made('tar',
			[{ name: 'd/a', data: '3' }, { name: 'away/f', data: '3' }]));
		assert.equal(away.json.code, 'INVALID_ARCHIVE');
		assert.equal((await sandbox.exec(
			'cat /workspace/t/d/a; ls -A /workspace/t /tmp')).stdout
			.includes('.warren'), false);
		assert.equal((await sandbox.exec('cat /workspace/t/d/a')).stdout,
			'2');
	});

test('what is no archive, or breaks off, changes nothing', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const bytes = await made('tar',
			[{ name: 'a', data: 'x'.repeat(100_000) }]);

		for (const body of ['', 'no archive', randomBytes(100_000),
			bytes.subarray(0, 50_000)]) {
			const put = await archive('PUT', sandbox, 't', body);
			assert.equal(put.json?.code, 'INVALID_ARCHIVE');
		}
		assert.equal((await sandbox.exec('find t')).stdout, 't\n');
		assert.equal((await archive('GET', sandbox, 'none')).status, 404);
		assert.equal((await archive('GET', sandbox, 't?format=rar')).status,
			400);
		await sandbox.exec('mkfifo p');
		assert.equal((await archive('GET', sandbox, 'p')).status, 400);
	});
