/**
 * Images beside host: chosen when a sandbox is made, with contexts, git and
 * files as in any other; what is missing in one is told in a sentence.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
	existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { keepersOf } from './lib/hostproc.mjs';
import { uniqueName, until, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 120_000 };
const run = promisify(execFile);
const MAKER = fileURLToPath(
	new URL('../images/small_image.py', import.meta.url));
const SHELL = { sessionId: '__DISABLE_SESSION__' };

const skip = (process.getuid() !== 0 && 'needs root, to import images') ||
	(!existsSync('/bin/busybox') && 'no busybox-static');

/** The interpreter's own library: Debian's, without what was added to it. */
function pythonParts() {
	const version = readdirSync('/usr/lib').find((name) =>
		/^python3\.\d+$/.test(name) &&
		existsSync(`/usr/lib/${name}/encodings`));

	return { program: `/usr/bin/${version}`, lib: `/usr/lib/${version}` };
}

describe('images', { skip }, () => {
	const small = uniqueName().slice(0, 20);
	const full = `${small}-full`;
	const dir = mkdtempSync(path.join(os.tmpdir(), 'warren-images-'));

	async function importImage(name, file) {
		await stack.warren('image', 'import', name, file);
	}

	/* The small one: busybox alone. The full one: bash, Python and Node,
	 * where others than Debian have them. */
	before(async () => {
		const tar = path.join(dir, 'small.tar');
		const { program, lib } = pythonParts();
		const node = (await run('/bin/bash',
			['-c', 'readlink -f /usr/bin/node'])).stdout.trim();

		await run('/usr/bin/python3', [MAKER, tar]);
		await run('git', ['init', '-q', '--bare', `${dir}/srv/repo.git`]);
		await run('git', ['init', '-q', `${dir}/source`]);
		writeFileSync(`${dir}/source/README`, 'cloned\n');
		await run('/bin/sh', ['-c', `cd ${dir}/source && git add . && ` +
			'git -c user.name=x -c user.email=x@x commit -qm first && ' +
			`git push -q ../srv/repo.git HEAD:refs/heads/main && ` +
			`git -C ../srv/repo.git symbolic-ref HEAD refs/heads/main`]);
		await run('tar', ['-C', dir, '-rf', tar, '--owner=0', '--group=0',
			'srv']);
		await importImage(small, tar);

		const big = path.join(dir, 'full.tar');
		await run('/usr/bin/python3',
			[MAKER, big, '/bin/bash', program,
				`${node}:usr/local/bin/node`]);
		await run('tar', ['-C', '/', '-rf', big, '--exclude=__pycache__',
			'--exclude=dist-packages', '--exclude=test',
			'--exclude=*config-3*', lib.slice(1)]);
		await run('/bin/sh', ['-c', `mkdir -p ${dir}/at/usr/local/bin && ` +
			`ln -s ${program} ${dir}/at/usr/local/bin/python3 && ` +
			`tar -C ${dir}/at -rf ${big} usr`]);
		/* Libraries that the interpreter's modules load. */
		await run('/bin/bash', ['-c', `ldd ${lib}/lib-dynload/*.so | ` +
			"sed -n 's/.*=> \\(\\/[^ ]*\\) .*/\\1/p' | sort -u | " +
			`tar -C / -rhf ${big} --transform 's,^/,,' -PT -`]);
		await importImage(full, big);
	});

	after(async () => {
		rmSync(dir, { recursive: true });
		await stack.warren('image', 'remove', small);
		await stack.warren('image', 'remove', full);
	});

	async function make(t, image, more = {}) {
		const sandbox = stack.sandbox(t);

		await sandbox.create({ image, ...more });
		return sandbox;
	}

	test('an unknown one is refused and those that are there are named',
		limit, async (t) => {
			const sandbox = stack.sandbox(t);

			for (const image of ['none', 'No', '../host', '.'])
				await assert.rejects(sandbox.create({ image }),
					(error) => error.httpStatus === 400 &&
						error.message.startsWith(
							'image names no image') &&
						error.message.includes('host') &&
						error.message.includes(small));
			await assert.rejects(sandbox.getInfo(),
				{ httpStatus: 404 });
		});

	test('commands run by /bin/sh where there is no bash', limit,
		async (t) => {
			const sandbox = await make(t, small);
			const done = await sandbox.exec(
				'echo "$0 $(id -un) $HOME $PWD"; exit 3', SHELL);

			assert.equal(done.stdout,
				'/bin/sh root /root /workspace\n');
			assert.equal(done.exitCode, 3);
			const long = `echo ${'x'.repeat(300_000)} | wc -c`;
			assert.equal((await sandbox.exec(long, SHELL)).stdout.trim(),
				'300001');
			assert.equal((await sandbox.getInfo()).image, small);
		});

	test('a session without bash is told what to do', limit, async (t) => {
		const sandbox = await make(t, small);

		await assert.rejects(sandbox.exec('true'), {
			httpStatus: 501, code: 'SHELL_NOT_AVAILABLE',
			message: /no \/bin\/bash, which sessions need/ });
		await assert.rejects(sandbox.startProcess('sleep 1'), {
			httpStatus: 501, code: 'SHELL_NOT_AVAILABLE' });
		for (const options of [{}, { cwd: '/tmp' }, { id: 'named' }])
			await assert.rejects(sandbox.createSession(options), {
				httpStatus: 501, code: 'SHELL_NOT_AVAILABLE' });
		/* And the sandbox is as it was. */
		assert.equal((await sandbox.exec('echo fine', SHELL)).stdout,
			'fine\n');
	});

	test('a missing interpreter is told what to install', limit,
		async (t) => {
			const sandbox = await make(t, small);

			for (const [language, code, word] of [
				['python', 'PYTHON_NOT_AVAILABLE', /Python 3/],
				['typescript', 'JAVASCRIPT_NOT_AVAILABLE', /Node\.js 18/],
				['bash', 'LANGUAGE_NOT_AVAILABLE', /Install it/],
			]) {
				const { status, json } = await stack.call('POST',
					`/v1/sandboxes/${(await sandbox.getInfo()).name}` +
					'/api/contexts', { language });

				assert.equal(status, 501);
				assert.equal(json.code, code);
				assert.match(json.suggestion, word);
			}
		});

	test('files and git need nothing of the image', limit, async (t) => {
		const sandbox = await make(t, small);

		await sandbox.writeFile('/workspace/b.txt', 'written');
		assert.equal((await sandbox.exec('cat b.txt', SHELL)).stdout,
			'written');
		await sandbox.gitCheckout('/srv/repo.git', { targetDir: 'repo' });
		assert.equal((await sandbox.readFile('/workspace/repo/README'))
			.content, 'cloned\n');
	});

	test('contexts and sessions work where the interpreters are', limit,
		async (t) => {
			const sandbox = await make(t, full);

			await sandbox.exec('cd /tmp && export KEPT=yes');
			assert.equal((await sandbox.exec('echo $PWD $KEPT')).stdout,
				'/tmp yes\n');
			for (const [language, code, text] of [
				['python', 'import json, sys\nx = 20\n' +
					'json.dumps([sys.executable, x + 1])',
				'\'["/usr/local/bin/python3", 21]\''],
				['javascript', 'x = 20; x + 1', '21'],
				['typescript', 'const y: number = 20; y + 1', '21'],
				['bash', 'x=20; echo $((x + 1))', undefined],
			]) {
				const context = await sandbox.createCodeContext({
					language });
				const done = await sandbox.runCode(code, { context });

				assert.equal(done.results[0]?.text, text,
					JSON.stringify(done));
			}
			const context = await sandbox.createCodeContext({
				language: 'bash' });
			await sandbox.runCode('x=20', { context });
			const done = await sandbox.runCode('echo $((x + 1))',
				{ context });
			assert.deepEqual(done.logs.stdout, ['21\n'],
				JSON.stringify(done));
		});

	test('one that is in use is not removed', limit, async (t) => {
		const name = `${small}-used`;

		await importImage(name, path.join(dir, 'small.tar'));
		const sandbox = await make(t, name);
		await assert.rejects(stack.warren('image', 'remove', name),
			/1 sandbox has image .*: destroy them first, or add --force/);
		assert.equal((await sandbox.exec('echo here', SHELL)).stdout,
			'here\n');
		assert.match(await stack.warren('image', 'list'),
			new RegExp(`^${name}\t.*\tsandboxes=1$`, 'm'));
		assert.match(
			await stack.warren('image', 'remove', name, '--force'),
			/1 sandbox is without an image now/);
		await assert.rejects(make(t, name), { httpStatus: 400 });

		/* Once it has ended it cannot start again; with the image it can. */
		await sandbox.writeFile('/workspace/kept', 'kept');
		for (const pid of keepersOf((await sandbox.getInfo()).id))
			process.kill(pid, 'SIGKILL');
		await until(20_000, 'it has ended', async () =>
			(await sandbox.getInfo()).state === 'stopped');
		await assert.rejects(sandbox.exec('true', SHELL), {
			httpStatus: 409, code: 'IMAGE_NOT_FOUND',
			message: new RegExp(`image ${name} is not there any more`),
		});
		await importImage(name, path.join(dir, 'small.tar'));
		assert.equal((await sandbox.exec('cat kept', SHELL)).stdout,
			'kept');
		await sandbox.destroy();
		await stack.warren('image', 'remove', name);
	});
});
