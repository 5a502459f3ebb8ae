/**
 * Files.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';

import { useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };
const PNG = Buffer.from(
	'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk' +
	'YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==', 'base64');
const sha = (bytes) => createHash('sha256').update(bytes).digest('hex');

test('what is written is read', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const text = 'Grüße, 世界 😀\n"quotes" \\ $HOME `x`\r\n\tend';
	const written = await sandbox.writeFile('/workspace/a.txt', text);

	assert.equal(written.success, true);
	assert.equal(written.path, '/workspace/a.txt');
	const read = await sandbox.readFile('/workspace/a.txt');
	assert.equal(read.content, text);
	assert.equal(read.encoding, 'utf-8');
	assert.equal(read.isBinary, false);
	assert.equal(read.size, Buffer.byteLength(text));
	assert.match(read.mimeType, /^text\/plain/);
});

test('an empty file is a file', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.writeFile('/workspace/empty', '');
	const read = await sandbox.readFile('/workspace/empty');
	assert.equal(read.content, '');
	assert.equal(read.size, 0);
});

test('a shorter text replaces a longer one', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.writeFile('a', 'a long text');
	await sandbox.writeFile('a', 'short');
	assert.equal((await sandbox.readFile('a')).content, 'short');
});

test('relative paths start at the workspace, parents are made', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.writeFile('deep/er/file.txt', 'x');
		assert.equal((await sandbox.readFile(
			'/workspace/deep/er/file.txt')).content, 'x');
	});

test('relative paths of a body follow cd, those of a URL do not', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const url = (path) => `/v1/sandboxes/${sandbox.name}/files/${path}`;

		await sandbox.exec('mkdir d; cd d');
		await sandbox.writeFile('a', 'by body');
		await stack.call('PUT', url('a'), 'by URL');
		const { stdout } = await sandbox.exec('cat a ../a');
		assert.equal(stdout, 'by bodyby URL');
		assert.equal((await sandbox.readFile('../a')).content, 'by URL');
		assert.equal((await stack.call('GET', url('d/a'))).text,
			'by body');
		const session = await sandbox.createSession({ cwd: '/tmp' });
		await session.writeFile('b', 'x');
		assert.equal((await sandbox.exists('/tmp/b')).exists, true);
	});

test('names with spaces, quotes and other scripts work', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		for (const name of ['a b', "it's", '"q"', 'ü 世', '-n', 'a\nb',
			'%2e%2e', '$HOME'])
			await sandbox.writeFile(`/workspace/n/${name}`, name);
		const { files } = await sandbox.listFiles('/workspace/n');
		assert.equal(files.length, 8);
		for (const { absolutePath, name } of files)
			assert.equal((await sandbox.readFile(absolutePath))
				.content, name);
	});

test('a PNG reads back as base64 with its type', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.writeFile('/workspace/p.png', PNG);
	const read = await sandbox.readFile('/workspace/p.png');
	assert.equal(read.encoding, 'base64');
	assert.equal(read.isBinary, true);
	assert.equal(read.mimeType, 'image/png');
	assert.equal(read.size, PNG.length);
	assert.deepEqual(Buffer.from(read.content, 'base64'), PNG);
});

test('base64 gives the exact bytes of any file', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const bytes = randomBytes(5 << 20);

	await sandbox.writeFile('/workspace/r.txt', bytes);
	const { content } = await sandbox.readFile('/workspace/r.txt',
		{ encoding: 'base64' });
	assert.equal(sha(Buffer.from(content, 'base64')), sha(bytes));
	const { stdout } = await sandbox.exec('sha256sum < r.txt');
	assert.equal(stdout.slice(0, 64), sha(bytes));
});

test('bad base64 is 400', limit, async (t) => {
	await assert.rejects(stack.sandbox(t).writeFile('a', 'a*b',
		{ encoding: 'base64' }), { httpStatus: 400 });
});

test('a missing file is 404 to read, delete, rename and move', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const refusal = (error) => {
			assert.equal(error.httpStatus, 404);
			assert.equal(error.code, 'FILE_NOT_FOUND');
			assert.match(error.message,
				/not found|does not exist|no such file/i);
			return true;
		};

		await sandbox.exec('true');
		await assert.rejects(sandbox.readFile('/none'), refusal);
		await assert.rejects(sandbox.deleteFile('/none'), refusal);
		await assert.rejects(sandbox.renameFile('/none', '/b'), refusal);
		await assert.rejects(sandbox.moveFile('/none', '/b'), refusal);
		await assert.rejects(sandbox.listFiles('/none'), refusal);
	});

test('deleteFile deletes files and refuses directories', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.writeFile('d/a', 'x');
		await sandbox.deleteFile('d/a');
		assert.equal((await sandbox.exists('d/a')).exists, false);
		await assert.rejects(sandbox.deleteFile('d'), (error) => {
			assert.equal(error.httpStatus, 400);
			assert.equal(error.code, 'IS_DIRECTORY');
			assert.match(error.message, /Cannot delete directory/);
			assert.match(error.message, /deleteFile\(\)/);
			return true;
		});
		assert.equal((await sandbox.exists('d')).exists, true);
	});

test('mkdir makes one level, or all with recursive', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await assert.rejects(sandbox.mkdir('a/b/c'), { httpStatus: 404 });
	const made = await sandbox.mkdir('a/b/c', { recursive: true });
	assert.equal(made.recursive, true);
	await sandbox.mkdir('a/b/c', { recursive: true });
	await assert.rejects(sandbox.mkdir('a/b'),
		{ httpStatus: 409, code: 'FILE_EXISTS' });
	assert.equal((await sandbox.exists('a/b/c')).exists, true);
});

test('rename and move keep the content', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.writeFile('one', '1');
	const renamed = await sandbox.renameFile('one', 'two');
	assert.match(renamed.newPath, /two$/);
	await sandbox.mkdir('dir');
	await sandbox.moveFile('two', 'dir/three');
	assert.equal((await sandbox.exists('one')).exists, false);
	assert.equal((await sandbox.exists('two')).exists, false);
	assert.equal((await sandbox.readFile('dir/three')).content, '1');
});

test('a list tells names, types, sizes and modes', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.exec('mkdir -p l/sub l/.hidden && cd l && ' +
		'printf 12345 > f && chmod 750 f && ln -s f s && ' +
		'touch sub/inner && mkfifo p');
	const { files, count } = await sandbox.listFiles('/workspace/l');
	const byName = Object.fromEntries(files.map((f) => [f.name, f]));
	assert.equal(count, 4);
	assert.deepEqual(Object.keys(byName).sort(), ['f', 'p', 's', 'sub']);
	assert.equal(byName.f.type, 'file');
	assert.equal(byName.f.size, 5);
	assert.equal(byName.f.mode, 'rwxr-x---');
	assert.deepEqual(byName.f.permissions,
		{ readable: true, writable: true, executable: true });
	assert.equal(byName.f.absolutePath, '/workspace/l/f');
	assert.equal(byName.f.relativePath, 'f');
	assert.match(byName.f.modifiedAt, /(Z|[+-]\d\d:?\d\d)$/);
	assert.ok(Math.abs(Date.parse(byName.f.modifiedAt) - Date.now()) <
		60_000);
	assert.equal(byName.sub.type, 'directory');
	assert.equal(byName.s.type, 'symlink');
	assert.equal(byName.p.type, 'other');

	const hidden = await sandbox.listFiles('/workspace/l',
		{ includeHidden: true });
	assert.equal(hidden.count, 5);
	const all = await sandbox.listFiles('/workspace/l',
		{ recursive: true });
	assert.ok(all.files.some((f) => f.relativePath === 'sub/inner'));
});

test('a list of a file is an error', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.writeFile('f', 'x');
	await assert.rejects(sandbox.listFiles('f'), (error) => {
		assert.equal(error.httpStatus, 400);
		assert.equal(error.code, 'NOT_DIRECTORY');
		assert.match(error.message, /not a directory/i);
		return true;
	});
});

test('a directory is no file to read or write', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.mkdir('d');
	await assert.rejects(sandbox.readFile('d'),
		{ httpStatus: 400, code: 'IS_DIRECTORY' });
	await assert.rejects(sandbox.writeFile('d', 'x'),
		{ httpStatus: 400, code: 'IS_DIRECTORY' });
});

test('exists answers for files, directories and nothing', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.writeFile('d/f', 'x');
		assert.equal((await sandbox.exists('d')).exists, true);
		assert.equal((await sandbox.exists('d/f')).exists, true);
		assert.equal((await sandbox.exists('d/f/g')).exists, false);
		assert.equal((await sandbox.exists('e')).exists, false);
	});

test('files, commands and code see the same tree', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.writeFile('data.txt', 'from the API');
	const { stdout } = await sandbox.exec(
		'cat data.txt; echo from bash > b.txt');
	assert.equal(stdout, 'from the API');
	const run = await sandbox.runCode('open("b.txt").read()');
	assert.equal(run.results[0].text, "'from bash\\n'");
});

test('reading a pipe or an endless device does not hang', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.exec('mkfifo p');
		for (const path of ['p', '/dev/zero'])
			await assert.rejects(sandbox.readFile(path), (error) => {
				assert.ok(error.httpStatus >= 400 &&
					error.httpStatus < 500);
				return true;
			});
	});

test('ten writers at once each write their own file', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const names = Array.from({ length: 10 }, (_, i) => `w/${i}`);

	await Promise.all(names.map((n) => sandbox.writeFile(n, n)));
	const read = await Promise.all(names.map((n) => sandbox.readFile(n)));
	assert.deepEqual(read.map((r) => r.content), names);
});

const api = (sandbox, route, body) =>
	stack.call('POST', `/v1/sandboxes/${sandbox.name}/api/${route}`, body);

test('a list in pages is the whole list', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const paths = [];
	let cursor;

	await sandbox.exec('mkdir -p p/a/b p/c; cd p; touch a/b/$(seq -s " a/b/" ' +
		'40) c/x .h; cd $PWD; mkdir $\'\\xff\'; touch $\'\\xff/f\'');
	const whole = await sandbox.listFiles('/workspace/p',
		{ recursive: true, includeHidden: true });
	do {
		const { json } = await api(sandbox, 'list-files', {
			path: '/workspace/p', options: { recursive: true,
				includeHidden: true, limit: 7, cursor } });
		assert.ok(json.count <= 7);
		paths.push(...json.files);
		assert.equal(json.truncated === true, json.cursor !== undefined);
		cursor = json.cursor;
	} while (cursor !== undefined);
	assert.deepEqual(paths, whole.files);
	assert.equal(whole.truncated, undefined);
	for (const options of [{ cursor: '*' }, { limit: 0 }, { limit: 1e9 }])
		assert.equal((await api(sandbox, 'list-files',
			{ path: '/', options })).json.code, 'VALIDATION_FAILED');
});

test('stat tells a file, and a link when asked', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.exec('printf 12345 >f; chmod 640 f; ln -s f l');
	const file = (await api(sandbox, 'stat', { path: 'l' })).json;
	assert.equal(file.type, 'file');
	assert.equal(file.size, 5);
	assert.equal(file.mode, 'rw-r-----');
	assert.equal(file.uid, 0);
	assert.match(file.etag, /^"[0-9a-f-]+"$/);
	assert.equal(file.target, undefined);
	const link = (await api(sandbox, 'stat',
		{ path: 'l', followLinks: false })).json;
	assert.equal(link.type, 'symlink');
	assert.equal(link.target, 'f');
	assert.equal((await api(sandbox, 'stat', { path: 'no' })).status, 404);
});

test('copy and chmod work on files and, asked so, on trees', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.exec('mkdir -p d/e; echo x >d/e/f; ln -s f d/e/l');
		const copied = await api(sandbox, 'copy',
			{ sourcePath: 'd', destinationPath: 'c' });
		assert.equal(copied.json.code, 'IS_DIRECTORY');
		assert.equal((await api(sandbox, 'copy', { sourcePath: 'd',
			destinationPath: 'c', recursive: true })).status, 200);
		assert.equal((await sandbox.exec(
			'diff -r --no-dereference d c')).exitCode, 0);
		assert.equal((await api(sandbox, 'copy', { sourcePath: 'd/e/f',
			destinationPath: 'c/e/f' })).status, 409);
		assert.equal((await api(sandbox, 'copy', { sourcePath: 'd/e/f',
			destinationPath: 'c/e/f', overwrite: true })).status, 200);
		assert.equal((await api(sandbox, 'chmod',
			{ path: 'c', mode: '0700', recursive: true })).status, 200);
		assert.equal((await sandbox.exec('stat -c %a c/e/f d/e/f'))
			.stdout, '700\n644\n');
		assert.equal((await api(sandbox, 'chmod',
			{ path: 'c', mode: 'rwx' })).status, 400);
	});

test('a bulk write tells the result of each file', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.mkdir('dir');
	const { status, json } = await api(sandbox, 'write-files', { files: [
		{ path: 'a/1', content: 'one' },
		{ path: 'dir', content: 'x' },
		{ path: 'b', content: 'AP8=', encoding: 'base64', mode: '0755' },
		{ path: 'c', content: '*', encoding: 'base64' },
		{ path: 'd', content: '', mode: '9' },
	] });
	assert.equal(status, 200);
	assert.equal(json.success, false);
	assert.deepEqual(json.files.map((f) => [f.path, f.success,
		f.size ?? f.error.code]), [
		['a/1', true, 3], ['dir', false, 'IS_DIRECTORY'], ['b', true, 2],
		['c', false, 'VALIDATION_FAILED'],
		['d', false, 'VALIDATION_FAILED'],
	]);
	assert.equal((await sandbox.exec('stat -c "%a %s" b')).stdout,
		'755 2\n');
	const many = await api(sandbox, 'write-files', { files:
		Array.from({ length: 200 }, (_, i) =>
			({ path: `m/${i}`, content: `${i}` })) });
	assert.equal(many.json.success, true);
	assert.equal((await sandbox.listFiles('m')).count, 200);
	assert.equal((await api(sandbox, 'write-files', { files: [] })).status,
		400);
});

test('a slash at the end makes no difference to a call', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	for (const slash of ['', '/']) {
		const call = (route, body) => api(sandbox, route + slash, body);

		assert.equal((await call('write', { path: 'd/a', content: 'x' }))
			.status, 200);
		assert.equal((await call('read', { path: 'd/a' })).json.content,
			'x');
		assert.equal((await call('write-files', { files: [
			{ path: 'd/b', content: 'y' }] })).json.success, true);
		/* of a path it says that it is a directory */
		assert.equal((await call('list-files', { path: 'd' + slash }))
			.json.count, 2);
		assert.equal((await call('delete', { path: 'd/b' })).status, 200);
	}
	assert.equal((await api(sandbox, 'read', { path: 'd/a/' })).status, 400);
	assert.equal((await api(sandbox, 'write', { path: 'd/', content: '' }))
		.json.code, 'IS_DIRECTORY');
});

test('calls while a sandbox comes and goes have typed answers', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const root = `/v1/sandboxes/${sandbox.name}`;
		const seen = {};
		const calls = [
			() => api(sandbox, 'write', { path: 'a', content: 'x' }),
			() => api(sandbox, 'read', { path: 'a' }),
			() => api(sandbox, 'list-files', { path: '.' }),
			() => stack.call('PUT', `${root}/files/b`, 'y'),
			() => stack.call('GET', `${root}/files/b`),
			() => stack.call('GET', `${root}/archive/`),
		];
		/* Gone before, while or after it was asked; nothing else. */
		const typed = new Set(['FILE_NOT_FOUND', 'SANDBOX_NOT_FOUND',
			'SANDBOX_UNAVAILABLE', 'SANDBOX_GONE']);

		for (let round = 0; round < 6; round++) {
			const going = calls.concat(calls).map((call) => call());
			const end = stack.call('DELETE', root);

			for (const { status, json, text } of
				await Promise.all(going)) {
				if (status < 300)
					continue;
				assert.ok(typed.has(json?.code), `${status}: ${text}`);
				assert.equal(json.httpStatus, status);
				seen[json.code] = (seen[json.code] ?? 0) + 1;
			}
			assert.ok([204, 404].includes((await end).status));
			await stack.call('DELETE', root);
		}
		t.diagnostic(JSON.stringify(seen));
		assert.equal((await api(sandbox, 'write',
			{ path: 'a', content: 'new' })).status, 200);
		assert.equal((await sandbox.readFile('a')).content, 'new');
	});
