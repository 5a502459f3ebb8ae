/**
 * Backups of directories: what they hold, what they leave out, whose they
 * are, and that a restore is whole or nothing.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import {
	deleteBackup, getBackup, getSandbox, listBackups,
} from '../../clients/js/index.js';
import { findProcesses } from './lib/hostproc.mjs';
import { guest, uniqueName, until, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 120_000 };
const here = (apiKey = stack.apiKey) => ({ url: stack.url, apiKey });

/** From the workspace on, whatever a test did before. */
async function sh(sandbox, command) {
	const { stdout, stderr, exitCode } = await sandbox.exec(
		`cd /workspace && {\n${command}\n}`);

	assert.equal(exitCode, 0, stderr);
	return stdout;
}

/** A backup that is deleted after ${t}. */
async function backup(t, sandbox, options, apiKey) {
	const made = await sandbox.createBackup(options);

	t.after(() => deleteBackup(made.id, here(apiKey)).catch((error) =>
		assert.equal(error.code, 'BACKUP_NOT_FOUND')));
	return made;
}

async function tree(sandbox, dir) {
	await sandbox.writeFile('/tmp/tree.py', await guest('tree.py'));
	return sh(sandbox, `python3 /tmp/tree.py show ${dir}`);
}

const refused = (code, httpStatus, extra = {}) =>
	({ code, httpStatus, ...extra });

test('a random tree comes back as it was, in another sandbox too', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const other = stack.sandbox(t);

		await sandbox.writeFile('/tmp/tree.py', await guest('tree.py'));
		for (let seed = 1; seed <= 3; seed++) {
			await sh(sandbox, `python3 /tmp/tree.py grow t${seed} ${seed}`);
			const want = await tree(sandbox, `/workspace/t${seed}`);
			const made = await backup(t, sandbox,
				{ dir: `/workspace/t${seed}` });

			assert.ok(want.length > 1000);
			await other.restoreBackup(made);
			assert.equal(await tree(other, `/workspace/t${seed}`), want);
			await sandbox.restoreBackup(made, { dir: '/opt/a/new/place' });
			assert.equal(await tree(sandbox, '/opt/a/new/place'), want);
		}
	});

test('owners, all bits of modes, times, links, holes and the directory\'s own',
	limit, async (t) => {
		const sandbox = stack.sandbox(t);
		const show = 'cd d && find . -printf "%p %y %m %U:%G %l %n %s %T@\\n" ' +
			'| sort && du -s --block-size=1 big zero | sort -n';

		await sh(sandbox, 'mkdir -p d/e && cd d && echo a >a && ' +
			'ln a e/hard && ln -s /etc/passwd out && ln -s none dangling && ' +
			'truncate -s 2G zero && truncate -s 1G big && ' +
			'printf x | dd of=big bs=1 seek=500M conv=notrunc status=none && ' +
			'chmod 4711 a && chown 1000:100 e out -h && ' +
			'find . -depth -exec touch -hd 2001-02-03T04:05:06.789 {} + && ' +
			'chmod 1750 . && chown 7:8 . && touch -d 1999-01-01 .');
		const want = await sh(sandbox, show);
		const made = await backup(t, sandbox, { dir: '/workspace/d' });

		assert.ok(made.sizeBytes < 1 << 20, String(made.sizeBytes));
		await sh(sandbox, 'rm -rf d && mkdir d && touch d/x');
		await sandbox.restoreBackup(made);
		assert.equal(await sh(sandbox, show), want);
		assert.match(want, /^\. d 1750 7:8 /m);
	});

test('writes after it change no backup, and two at once keep apart', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sh(sandbox, 'mkdir a b; echo a >a/f; echo b >b/f');
		const [a, b] = await Promise.all(['a', 'b'].map((dir) =>
			backup(t, sandbox, { dir: `/workspace/${dir}` })));
		await sh(sandbox, 'echo later | tee a/f b/f');
		await Promise.all([sandbox.restoreBackup(a),
			sandbox.restoreBackup(b)]);
		assert.equal(await sh(sandbox, 'cat a/f b/f'), 'a\nb\n');
		await sh(sandbox, 'echo again >a/f');
		await sandbox.restoreBackup(a);
		assert.equal(await sh(sandbox, 'cat a/f; ls -A . / | grep warren || :'),
			'a\n');
	});

test('the workspace itself is restored, and a mount point by its content',
	limit, async (t) => {
		const sandbox = stack.sandbox(t);

		await sh(sandbox, 'mkdir d; echo kept >d/f; echo x >.hidden');
		const made = await backup(t, sandbox, { dir: '/workspace' });

		await sh(sandbox, 'rm -rf d .hidden; echo y >other');
		await sandbox.restoreBackup(made);
		assert.equal(await sh(sandbox, 'cd /workspace; ls -A; cat d/f; ' +
			'stat -c %a .'), '.hidden\nd\nkept\n777\n');
		await sh(sandbox, 'echo old >/tmp/old; mkdir /tmp/d; echo o >/tmp/d/f');
		await sandbox.restoreBackup(made, { dir: '/tmp' });
		assert.equal(await sh(sandbox, 'ls -A /tmp; cat /tmp/d/f'),
			'.hidden\nd\nkept\n');
	});

test('a user without rights beside the directory restores it, too', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.create({ user: 'sandbox' });
		await sh(sandbox, 'mkdir -p d/ro; echo 1 >d/f; chmod 555 d/ro');
		const made = await backup(t, sandbox, { dir: '/workspace' });

		await sh(sandbox, 'chmod 755 d/ro; rm -rf d; echo new >n');
		await sandbox.restoreBackup(made);
		assert.equal(await sh(sandbox, 'ls -A; cat d/f; stat -c %a d/ro'),
			'd\n1\n555\n');
		/* What broke off before it was over is undone by the next call. */
		await sh(sandbox, 'mkdir -p .warren-0123456789abcdef/{old,new}; ' +
			'cd .warren-0123456789abcdef; touch restore out; ' +
			'mv ../d old/; echo half >new/half');
		const after = await backup(t, sandbox, { dir: '/workspace' });
		assert.equal(await sh(sandbox, 'cd /workspace; ls -A; cat d/f'),
			'd\n1\n');
		/* Or finished, when all that was old was out. */
		await sh(sandbox, 'mkdir -p .warren-0123456789abcdef/{old,new}; ' +
			'cd .warren-0123456789abcdef; touch restore out in; ' +
			'mv ../d old/; echo whole >new/whole');
		await backup(t, sandbox, { dir: '/workspace' });
		assert.equal(await sh(sandbox, 'cd /workspace; ls -A; cat whole'),
			'whole\nwhole\n');
		await sandbox.restoreBackup(after);
		assert.equal(await sh(sandbox, 'cd /workspace; ls -A'), 'd\n');
	});

test('globs leave out what they mean, and all that is below it', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sh(sandbox, 'mkdir -p p/{src/gen,node_modules/x,a/node_modules}; ' +
			'cd p; touch src/gen/g src/s a.log src/b.log keep ' +
			'node_modules/x/y a/node_modules/z "we ird"; ln keep keep2');
		const made = await backup(t, sandbox, {
			dir: '/workspace/p',
			excludes: ['node_modules', '*.log', 'src/gen', 'keep'],
		});

		await sandbox.restoreBackup(made, { dir: '/workspace/q' });
		assert.equal(await sh(sandbox, 'cd q; find . | LC_ALL=C sort'),
			'.\n./a\n./keep2\n./src\n./src/s\n./we ird\n');
	});

test('what git ignores is left out when asked for, and only then', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const listed = async (options) => {
			const made = await backup(t, sandbox, options);
			const to = `/opt/${uniqueName()}`;

			await sandbox.restoreBackup(made, { dir: to });
			return sh(sandbox, `cd ${to}; ` +
				'find . -name .git -prune -o -type f -print | LC_ALL=C sort');
		};

		await sh(sandbox, 'git init -q r && cd r && ' +
			'mkdir -p sub/deep build lib/inner logs && ' +
			'printf "*.o\\n/build/\\nlogs/\\n!keep.o\\n" >.gitignore && ' +
			'printf "*.tmp\\n!deep/yes.tmp\\n" >sub/.gitignore && ' +
			'echo /private >>.git/info/exclude && ' +
			'touch a.o keep.o b.c build/x sub/a.tmp sub/deep/yes.tmp c.tmp ' +
			'private sub/deep/no.tmp logs/l tracked.o sub/build && ' +
			'git add -f tracked.o && ' +
			'git init -q lib/inner && echo "*.c" >lib/inner/.gitignore && ' +
			'touch lib/inner/i.c lib/inner/i.h lib/inner/i.o');
		const all = await listed({ dir: '/workspace/r' });
		assert.ok(all.includes('./build/x\n') && all.includes('./a.o\n'));
		assert.equal(await listed({ dir: '/workspace/r', gitignore: true }),
			['.gitignore', 'b.c', 'c.tmp', 'keep.o', 'lib/inner/.gitignore',
				'lib/inner/i.h', 'lib/inner/i.o', 'sub/.gitignore',
				'sub/build', 'sub/deep/yes.tmp', 'tracked.o']
				.map((name) => `./${name}\n`).join(''));
		/* A directory in it has the rules of those above. */
		assert.equal(await listed({ dir: '/workspace/r/sub',
			gitignore: true }), './.gitignore\n./build\n./deep/yes.tmp\n');
		/* Where there is no repository there are no rules of git's. */
		await sh(sandbox, 'mkdir n; echo "*" >n/.gitignore; touch n/f');
		assert.equal(await listed({ dir: '/workspace/n', gitignore: true }),
			'./.gitignore\n./f\n');
	});

test('what is asked for wrongly is refused before anything is done', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const bad = (fields) => assert.rejects(
			sandbox.createBackup({ dir: '/workspace/d', ...fields }),
			refused('INVALID_BACKUP_CONFIG', 400), JSON.stringify(fields));

		await sh(sandbox, 'mkdir d; touch f');
		for (const dir of ['d', './d', '/workspace/../etc', '/..', '/', '//.'])
			await bad({ dir });
		for (const ttl of [0, -1, 'soon', true, 1e12, '0s'])
			await bad({ ttl });
		await bad({ name: 'a\nb' });
		await bad({ name: 'x'.repeat(257) });
		await bad({ excludes: [''] });
		await bad({ excludes: ['x'.repeat(1025)] });
		await bad({ compression: { format: 'rar' } });
		await assert.rejects(sandbox.createBackup({ dir: '/workspace/none' }),
			refused('FILE_NOT_FOUND', 404));
		await assert.rejects(sandbox.createBackup({ dir: '/workspace/f' }),
			refused('NOT_DIRECTORY', 400));
		for (const id of ['x', '../../etc', `${'0'.repeat(36)}`,
			'00000000-0000-1000-8000-000000000000'])
			await assert.rejects(sandbox.restoreBackup({ id }),
				refused('INVALID_BACKUP_CONFIG', 400), id);
		const id = '00000000-0000-4000-8000-000000000000';
		await assert.rejects(sandbox.restoreBackup({ id }),
			refused('BACKUP_NOT_FOUND', 404));
		await assert.rejects(sandbox.restoreBackup({ id, dir: 'd' }),
			refused('INVALID_BACKUP_CONFIG', 400));
		for (const body of [{}, { id, archivePath: '/var/backups/x' },
			{ archivePath: '/tmp/x' }, { archivePath: '/var/backups/../x' }]) {
			const { status, json } = await stack.call('POST',
				`/v1/sandboxes/${sandbox.name}/api/backup/restore`, body);
			assert.equal(status, 400);
			assert.equal(json.code, 'INVALID_BACKUP_CONFIG');
		}
		assert.deepEqual((await sandbox.listBackups()).backups, []);
		/* Nor is a sandbox made for one that is not there. */
		const none = getSandbox(uniqueName(), here());
		await assert.rejects(none.restoreBackup({ id }));
		await assert.rejects(none.getInfo(), { httpStatus: 404 });
	});

test('its time over, a backup is told as expired and stored no more', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sh(sandbox, 'mkdir d; head -c 1M /dev/urandom >d/f');
		const made = await sandbox.createBackup(
			{ dir: '/workspace/d', ttl: 0.2 });
		await until(10_000, 'its end', async () => {
			const error = await sandbox.restoreBackup(made)
				.then(() => undefined, (e) => e);
			return error?.code === 'BACKUP_EXPIRED' &&
				error.httpStatus === 400;
		});
		await assert.rejects(getBackup(made.id, here()),
			refused('BACKUP_NOT_FOUND', 404));
		assert.deepEqual((await sandbox.listBackups()).backups, []);
		if (stack.noOperator)
			return t.diagnostic(stack.noOperator);
		await until(30_000, 'its removal', async () => {
			const rows = await stack.warren('sql', 'SELECT state, size_bytes ' +
				`FROM backups WHERE id = '${made.id}'`);
			return /expired\W+0\b/.test(rows);
		});
		assert.ok(!stored().includes(made.id));
		await assert.rejects(sandbox.restoreBackup(made),
			refused('BACKUP_EXPIRED', 400));
	});

/** The names of all files of backups. */
const stored = () => readdirSync(path.join(stack.data, 'backups'),
	{ recursive: true }).join('\n');

test('backups are listed newest first, page by page, and deleted', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const ids = [];

		await sh(sandbox, 'mkdir d; head -c 100K /dev/urandom >d/f');
		for (let i = 0; i < 3; i++)
			ids.unshift((await backup(t, sandbox,
				{ dir: '/workspace/d', name: `n${i}`, ttl: '1h' })).id);
		const first = await sandbox.listBackups({ limit: 2 });
		assert.deepEqual(first.backups.map(({ id }) => id), ids.slice(0, 2));
		const rest = await sandbox.listBackups({ after: first.next });
		assert.deepEqual(rest.backups.map(({ id }) => id), ids.slice(2));
		assert.equal(rest.next, undefined);
		const one = await getBackup(ids[0], here());
		assert.equal(one.name, 'n2');
		assert.equal(one.dir, '/workspace/d');
		assert.equal(one.sandbox, sandbox.name);
		assert.equal(one.entries, 2);
		assert.equal(one.contentBytes, 100 << 10);
		assert.ok(Date.parse(one.expiresAt) - Date.parse(one.createdAt) ===
			3_600_000);
		/* They outlive the sandbox, and are freed when deleted. */
		await sandbox.destroy();
		const all = await listBackups({ ...here(), sandbox: sandbox.name });
		assert.deepEqual(all.backups.map(({ id }) => id), ids);
		await deleteBackup(ids[0], here());
		await assert.rejects(deleteBackup(ids[0], here()),
			refused('BACKUP_NOT_FOUND', 404));
		const left = await listBackups(here());
		assert.ok(left.usedBytes <= all.usedBytes - one.sizeBytes);
		assert.ok(stack.noOperator || !stored().includes(ids[0]));
		await sandbox.restoreBackup({ id: ids[1], dir: '/workspace/d' });
		assert.equal(await sh(sandbox, 'stat -c %s d/f'), '102400\n');
	});

test('with an Idempotency-Key it is made once, however often it is asked for',
	limit, async (t) => {
		const sandbox = stack.sandbox(t);
		const options = { dir: '/workspace/d', idempotencyKey: 'k-1' };
		const make = (more) => backup(t, sandbox, { ...options, ...more });
		const ids = async () => (await sandbox.listBackups()).backups
			.map(({ id }) => id);

		/* What came to nothing leaves the key to the next try. */
		await sh(sandbox, 'true');
		await assert.rejects(make(), refused('FILE_NOT_FOUND', 404));
		await sh(sandbox, 'mkdir d; head -c 40M /dev/urandom >d/f');
		const tries = await Promise.all([make(), make(), make()]);
		const { id } = tries[0];

		assert.deepEqual(tries.map((made) => made.id), [id, id, id]);
		assert.deepEqual(await ids(), [id]);
		const again = await stack.call('POST',
			`/v1/sandboxes/${sandbox.name}/api/backup/create`,
			{ dir: '/workspace/d' },
			{ headers: { 'Idempotency-Key': 'k-1' } });
		assert.equal(again.json.id, id);
		assert.equal(again.headers['idempotent-replayed'], 'true');
		assert.deepEqual(again.json, JSON.parse(JSON.stringify(tries[0])));
		await assert.rejects(make({ name: 'another' }),
			refused('IDEMPOTENCY_KEY_REUSED', 422));
		const other = await make({ idempotencyKey: 'k-2' });
		assert.deepEqual((await ids()).sort(), [id, other.id].sort());
		/* Nor does a key of another sandbox have to do with it. */
		const elsewhere = stack.sandbox(t);
		await sh(elsewhere, 'mkdir d');
		assert.notEqual((await backup(t, elsewhere, options)).id, id);
	});

test('another tenant\'s backup is one that does not exist', limit,
	async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		const apiKey = await stack.newTenant();
		const theirs = stack.sandbox(t, { apiKey });
		const ours = stack.sandbox(t);

		await sh(theirs, 'mkdir d; echo secret >d/f');
		const made = await backup(t, theirs, { dir: '/workspace/d' }, apiKey);
		for (const attempt of [
			() => ours.restoreBackup(made),
			() => getBackup(made.id, here()),
			() => deleteBackup(made.id, here()),
		])
			await assert.rejects(attempt(),
				refused('BACKUP_NOT_FOUND', 404));
		assert.ok(!(await listBackups(here())).backups
			.some(({ id }) => id === made.id));
		const page = await listBackups({ ...here(), after: made.id });
		assert.deepEqual(page.backups, []);
		await theirs.restoreBackup(made);
	});

test('what a tenant may store is counted while it is stored', limit,
	async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		const name = uniqueName();
		const apiKey = await stack.newTenant(name);
		const sandbox = stack.sandbox(t, { apiKey });
		const used = async () => (await listBackups(here(apiKey))).usedBytes;

		await stack.warren('tenant', 'set', name,
			'--limit', 'backupBytes=4M');
		await sh(sandbox, 'mkdir s l; head -c 3M /dev/urandom >s/f; ' +
			'head -c 5M /dev/urandom >l/f');
		await assert.rejects(sandbox.createBackup({ dir: '/workspace/l' }),
			(error) => {
				assert.equal(error.code, 'LIMIT_EXCEEDED');
				assert.equal(error.httpStatus, 429);
				assert.equal(error.context.name, 'backupBytes');
				assert.equal(error.context.limit, 4 << 20);
				return true;
			});
		assert.equal(await used(), 0);
		const made = await backup(t, sandbox, { dir: '/workspace/s' }, apiKey);
		assert.equal(await used(), made.sizeBytes);
		await assert.rejects(sandbox.createBackup({ dir: '/workspace/s' }),
			refused('LIMIT_EXCEEDED', 429));
		assert.equal(await used(), made.sizeBytes);
		assert.equal(readdirSync(path.join(stack.data, 'backups'))
			.flatMap((dir) => readdirSync(
				path.join(stack.data, 'backups', dir)))
			.filter((file) => file.endsWith('.part')).length, 0);
	});

test('a restore that does not fit changes nothing and leaves nothing', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const small = stack.sandbox(t);

		await sh(sandbox, 'mkdir d; head -c 20M /dev/urandom >d/f; ' +
			'mkdir d/z; touch d/z/z');
		const made = await backup(t, sandbox, { dir: '/workspace/d' });

		await small.create({ limits: { diskBytes: 16 << 20 } });
		await sh(small, 'mkdir d; echo old >d/f');
		const free = () => sh(small, 'df --output=avail -B1 / | tail -1');
		const before = Number(await free());
		await assert.rejects(small.restoreBackup(made),
			refused('NO_SPACE', 500));
		assert.equal(await sh(small, 'ls -A . d; cat d/f'),
			'.:\nd\n\nd:\nf\nold\n');
		await until(10_000, 'the room', async () =>
			Number(await free()) >= before - (1 << 20));
	});

test('40 MiB and 10,000 files come back the same', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const sums = 'cd m && find . -type f -print0 | LC_ALL=C sort -z | ' +
		'xargs -0 sha256sum | sha256sum';

	await sh(sandbox, 'mkdir m; head -c 40M /dev/urandom >m/big; ' +
		'for d in $(seq 100); do mkdir m/$d; ' +
		'for f in $(seq 100); do echo $d $f >m/$d/$f; done; done');
	const want = await sh(sandbox, sums);
	const made = await backup(t, sandbox, { dir: '/workspace/m' });

	await sh(sandbox, 'rm -rf m/50 m/big; echo x >m/51/51');
	await sandbox.restoreBackup(made);
	assert.equal(await sh(sandbox, sums), want);
});

test('who leaves while it is made leaves nothing', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const gone = new AbortController();
	const had = (await listBackups(here())).usedBytes;

	await sh(sandbox, 'mkdir d; head -c 200M /dev/urandom >d/f');
	const call = sandbox.createBackup(
		{ dir: '/workspace/d', signal: gone.signal });
	await until(20_000, 'its beginning', async () =>
		(await listBackups(here())).usedBytes > had);
	gone.abort();
	await assert.rejects(call, { name: 'AbortError' });
	await until(20_000, 'its end', async () =>
		(await listBackups(here())).usedBytes <= had);
	assert.deepEqual((await sandbox.listBackups()).backups, []);
	assert.ok(stack.noOperator || !stored().includes('.part'));
});

/** Most memory, in KiB, that the worker that serves it ever had. */
function peaks() {
	return findProcesses('warren-fcgi',
		(words) => words.includes(stack.data)).map((pid) => Number(
		/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`))[1]));
}

test('300 MB pass through a worker whose memory stays as it was', limit,
	async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		const sandbox = stack.sandbox(t);

		await sh(sandbox, 'mkdir d; head -c 1M /dev/urandom >d/f');
		await sandbox.restoreBackup(
			await backup(t, sandbox, { dir: '/workspace/d' }));
		const before = Math.max(...peaks());
		await sh(sandbox, 'head -c 300M /dev/urandom >d/f');
		const want = await sh(sandbox, 'sha256sum <d/f');
		const made = await backup(t, sandbox, { dir: '/workspace/d' });

		await sandbox.restoreBackup(made);
		assert.equal(await sh(sandbox, 'sha256sum <d/f'), want);
		assert.ok(Math.max(...peaks()) < before + (8 << 10),
			`${before} ${peaks()}`);
	});

test('a key that only looks makes, restores and deletes none', limit,
	async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		const sandbox = stack.sandbox(t);
		const keyOf = async (scope) => /wrn_[\w-]+/.exec(await stack.warren(
			'key', 'add', 'default', '--scope', scope))[0];

		await sh(sandbox, 'mkdir d');
		const made = await backup(t, sandbox, { dir: '/workspace/d' });
		const looks = await keyOf('read');
		const works = await keyOf('exec');
		const reader = getSandbox(sandbox.name, here(looks));

		await assert.rejects(reader.createBackup({ dir: '/workspace/d' }),
			{ httpStatus: 403 });
		await assert.rejects(reader.restoreBackup(made), { httpStatus: 403 });
		assert.equal((await getBackup(made.id, here(looks))).id, made.id);
		await getSandbox(sandbox.name, here(works)).restoreBackup(made);
		for (const key of [looks, works])
			await assert.rejects(deleteBackup(made.id, here(key)),
				{ httpStatus: 403 });
	});
