/**
 * Backups when something dies or lies: workers, keepers, stored files, and an
 * S3-compatible store. On a stack of its own.
 */
import assert from 'node:assert/strict';
import {
	chownSync, readdirSync, readFileSync, statSync, truncateSync,
	writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import {
	deleteBackup, getBackup, getSandbox, listBackups,
} from '../../clients/js/index.js';
import { findPrograms, keepersOf } from './lib/hostproc.mjs';
import { startS3 } from './lib/s3.mjs';
import * as server from './lib/server.mjs';
import { uniqueName, until } from './stack.mjs';

const skip = !server.canServe() && 'needs root and nginx/serve';
const limit = { timeout: 180_000, skip };
const account = { id: 'TESTKEY', secret: 's3cr+t/=', region: 'test-1' };
let stack, s3;

before(async () => {
	if (skip)
		return;
	stack = await server.start({
		port: await server.freePort(),
		data: await server.makeDataDir(),
	});
}, { timeout: 15 * 60_000 });

after(async () => {
	await s3?.close();
	if (stack !== undefined)
		await server.stopAndRemove(stack.data);
});

const here = () => ({ url: stack.url, apiKey: stack.apiKey });
const open = () => getSandbox(uniqueName(), here());
const workers = () => findPrograms('warren-fcgi',
	(words) => words.includes(stack.data));

async function sh(sandbox, command) {
	const { stdout, stderr, exitCode } = await sandbox.exec(
		`cd /workspace && {\n${command}\n}`);

	assert.equal(exitCode, 0, stderr);
	return stdout;
}

/** All files of backups, by name. */
function files() {
	const top = path.join(stack.data, 'backups');

	return readdirSync(top).flatMap((dir) =>
		readdirSync(path.join(top, dir)).map((name) =>
			path.join(top, dir, name)));
}

const fileOf = ({ id }) => files().find((name) => name.includes(id));
const rows = () => server.warren(stack.data, 'sql',
	'SELECT id, state, size_bytes FROM backups ORDER BY id');

/** What counts is what the rows and files say, and no more. */
async function settled(ids) {
	await until(60_000, 'what died to be removed', async () => {
		const text = await rows();
		return !/making|deleting/.test(text) &&
			files().every((name) => ids.some((id) => name.includes(id)));
	});
	const { backups, usedBytes } = await listBackups(here());

	assert.deepEqual(backups.map(({ id }) => id).sort(), [...ids].sort());
	assert.equal(usedBytes,
		backups.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
}

/** Ends all workers, and waits for the ones after them. */
async function killWorkers() {
	const old = workers();

	assert.ok(old.length > 0);
	for (const pid of old)
		process.kill(pid, 'SIGKILL');
	await until(20_000, 'other workers', () => {
		const now = workers();
		return now.length > 0 && !now.some((pid) => old.includes(pid));
	});
	await until(20_000, 'an answer', () =>
		listBackups(here()).then(() => true, () => false));
}

test('kill -9 of the workers while backups are made leaves nothing of them',
	limit, async () => {
		const sandbox = open();

		await sh(sandbox, 'mkdir d e; head -c 400M /dev/urandom >d/f; ' +
			'echo kept >e/f');
		const kept = await sandbox.createBackup({ dir: '/workspace/e' });
		const keyed = { dir: '/workspace/d', idempotencyKey: 'once' };
		const call = sandbox.createBackup(keyed)
			.then(() => 'made', () => 'failed');

		await until(30_000, 'its beginning', () =>
			files().some((name) => name.endsWith('.part') &&
				statSync(name, { throwIfNoEntry: false })?.size > 0));
		await killWorkers();
		assert.equal(await call, 'failed');
		/* Who asked with a key asks again, and has one of it. */
		await sh(sandbox, 'truncate -s 1M d/f');
		const again = await sandbox.createBackup(keyed);
		await settled([kept.id, again.id]);
		await sandbox.restoreBackup(kept, { dir: '/workspace/again' });
		assert.equal(await sh(sandbox, 'cat again/f'), 'kept\n');
		for (const { id } of [kept, again])
			await deleteBackup(id, here());
		await sandbox.destroy();
	});

/** A directory of old content, and a backup of other, larger one. */
async function restorable(sandbox) {
	await sh(sandbox, 'mkdir d; for i in $(seq 40); do ' +
		'head -c 4M /dev/urandom >d/$i; done; sha256sum d/* >sums');
	const made = await sandbox.createBackup({ dir: '/workspace/d' });

	await sh(sandbox, 'rm d/*; echo old >d/old');
	return made;
}

/** Old or new, never a part of it; nothing beside it. */
async function wholeOrOld(sandbox) {
	const text = await sh(sandbox,
		'if [ -e d/old ]; then ls d; else sha256sum d/* | diff - sums && ' +
		'echo new; fi');

	assert.ok(text === 'old\n' || text === 'new\n', text);
	return text;
}

test('kill -9 of workers during restores leaves the old or the new', limit,
	async () => {
		const sandbox = open();
		const made = await restorable(sandbox);

		for (let i = 0; i < 3; i++) {
			const call = sandbox.restoreBackup(made)
				.then(() => 'new', () => 'died');

			if (i < 2)
				await until(20_000, 'its beginning', () => sh(sandbox,
					'ls -A').then((text) => text.includes('.warren-')));
			await killWorkers();
			await call;
			await until(30_000, 'the end of what was begun', async () =>
				!(await sh(sandbox, 'ls -A')).includes('.warren-'));
			await wholeOrOld(sandbox);
			await sh(sandbox, 'rm -rf d; mkdir d; echo old >d/old');
		}
		await sandbox.restoreBackup(made);
		assert.equal(await wholeOrOld(sandbox), 'new\n');
		await deleteBackup(made.id, here());
		await sandbox.destroy();
	});

test('kill -9 of the keeper during restores leaves the old or the new',
	limit, async () => {
		const sandbox = open();
		const made = await restorable(sandbox);
		const { id } = await sandbox.getInfo();

		for (let i = 0; i < 3; i++) {
			const call = sandbox.restoreBackup(made)
				.then(() => 'new', () => 'died');

			if (i < 2)
				await until(20_000, 'its beginning', () => sh(sandbox,
					'ls -A').then((text) => text.includes('.warren-')));
			for (const pid of keepersOf(id))
				process.kill(pid, 'SIGKILL');
			await call;
			await until(30_000, 'another keeper', () =>
				sh(sandbox, 'true').then(() => true, () => false));
			await wholeOrOld(sandbox);
			await sh(sandbox, 'rm -rf d; mkdir d; echo old >d/old');
		}
		/* What they left is removed by the next one. */
		await sandbox.restoreBackup(made);
		assert.equal(await wholeOrOld(sandbox), 'new\n');
		assert.equal(await sh(sandbox, 'ls -A'), 'd\nsums\n');
		await deleteBackup(made.id, here());
		await sandbox.destroy();
	});

test('a stored file that was damaged changes nothing, and is told', limit,
	async () => {
		const sandbox = open();

		await sh(sandbox, 'mkdir d; head -c 3M /dev/urandom >d/f');
		const made = await sandbox.createBackup({ dir: '/workspace/d' });
		const file = fileOf(made);
		const good = readFileSync(file);
		const fails = async (how) => {
			await assert.rejects(sandbox.restoreBackup(made), {
				code: 'BACKUP_RESTORE_FAILED', httpStatus: 500,
			}, how);
			assert.equal(await sh(sandbox, 'ls -A . d'),
				'.:\nd\n\nd:\nold\n', how);
		};

		await sh(sandbox, 'rm d/f; touch d/old');
		for (const at of [0, 5, good.length >> 1, good.length - 1]) {
			const bad = Buffer.from(good);

			bad[at] ^= 1;
			writeFileSync(file, bad);
			await fails(`byte ${at}`);
		}
		truncateSync(file, good.length - 100);
		await fails('cut');
		truncateSync(file, 0);
		await fails('empty');
		writeFileSync(file, good);
		await sandbox.restoreBackup(made);
		assert.equal(await sh(sandbox, 'ls d'), 'f\n');
		await deleteBackup(made.id, here());
		await sandbox.destroy();
	});

test('with [backup] they are objects of a store, signed, whole and counted',
	limit, async () => {
		const key = stack.apiKey;
		const secret = path.join(stack.data, 'backup.key');

		s3 = await startS3({ bucket: 'test-bucket', ...account });
		await server.stop(stack.data);
		writeFileSync(secret, `${account.secret}\n`, { mode: 0o600 });
		const { uid, gid } = statSync(path.join(stack.data, 'db'));
		chownSync(secret, uid, gid);
		writeFileSync(path.join(stack.data, 'warren.ini'),
			`[backup]\nendpoint = ${s3.url}\nbucket = test-bucket\n` +
			`region = ${account.region}\nkeyId = ${account.id}\n` +
			'secretFile = backup.key\nprefix = one/\n');
		Object.assign(stack, await server.start(stack), { apiKey: key });
		const sandbox = open();

		await sh(sandbox, 'mkdir d; head -c 5M /dev/urandom >d/f; touch d/g');
		const want = await sh(sandbox, 'sha256sum d/f');
		const made = await sandbox.createBackup({ dir: '/workspace/d' });

		assert.deepEqual(s3.faults, []);
		assert.equal(s3.objects.size, 1);
		const [[name, bytes]] = s3.objects;
		assert.match(name, new RegExp(`^one/[^/]+/${made.id}\\.tar\\.zst$`));
		assert.equal(bytes.length, made.sizeBytes);
		assert.deepEqual(files(), []);
		await sh(sandbox, 'rm -rf d');
		await sandbox.restoreBackup(made);
		assert.equal(await sh(sandbox, 'sha256sum d/f'), want);

		/* Busy stores are asked again. */
		s3.next.push(503, 'hang up');
		await sandbox.restoreBackup(made);
		s3.next.push(500);
		const second = await sandbox.createBackup({ dir: '/workspace/d' });
		assert.equal(s3.objects.size, 2);
		await deleteBackup(second.id, here());
		await until(30_000, 'its removal', () => s3.objects.size === 1);
		await settled([made.id]);
		assert.deepEqual(s3.faults, []);

		/* One that lies, or breaks off, changes nothing. */
		await sh(sandbox, 'rm -rf d; mkdir d; touch d/old');
		const lies = [
			(_, response) => response.end(Buffer.alloc(bytes.length)),
			(_, response) => response.end(bytes.subarray(0, 1 << 20)),
			(request, response) => {
				response.writeHead(200, { 'Content-Length': bytes.length });
				response.write(bytes.subarray(0, 1 << 20),
					() => request.socket.destroy());
			},
		];
		for (const lie of lies) {
			s3.next.push(lie);
			await assert.rejects(sandbox.restoreBackup(made),
				{ code: 'BACKUP_RESTORE_FAILED' });
			assert.equal(await sh(sandbox, 'ls -A . d'),
				'.:\nd\n\nd:\nold\n');
		}

		/* One that takes nothing leaves nothing. */
		s3.next.push(403);
		await assert.rejects(sandbox.createBackup({ dir: '/workspace/d' }),
			{ code: 'BACKUP_CREATE_FAILED', httpStatus: 500 });
		await settled([made.id]);

		/* Nor does a worker that dies while it sends. */
		const put = new Promise((resolve) => s3.next.push(resolve));
		const call = sandbox.createBackup({ dir: '/workspace/d' })
			.then(() => 'made', () => 'failed');
		await put;
		await killWorkers();
		assert.equal(await call, 'failed');
		await settled([made.id]);

		/* Time and quota hold there, too. */
		const brief = await sandbox.createBackup(
			{ dir: '/workspace/d', ttl: 1 });
		await until(30_000, 'its removal', () =>
			![...s3.objects.keys()].some((key) => key.includes(brief.id)));
		await assert.rejects(sandbox.restoreBackup(brief),
			{ code: 'BACKUP_EXPIRED' });
		await sandbox.destroy();
		assert.equal((await getBackup(made.id, here())).id, made.id);
		await deleteBackup(made.id, here());
		await until(30_000, 'its removal', () => s3.objects.size === 0);
		assert.deepEqual(s3.faults, []);
	});

/** Nothing is in the store, whole or in parts. */
const storeEmpty = () => until(60_000, 'the removal of parts', () =>
	s3.objects.size + s3.uploads.size === 0);

test('above 64 MiB they go in parts, of which nothing stays when one fails',
	limit, async () => {
		const sandbox = open();
		const options = { dir: '/workspace/d' };
		const fails = () => assert.rejects(sandbox.createBackup(options),
			{ code: 'BACKUP_CREATE_FAILED', httpStatus: 500 });

		await sh(sandbox, 'mkdir d; head -c 130M /dev/urandom >d/f');
		const want = await sh(sandbox, 'sha256sum d/f');
		/* A part that did not arrive is sent again, not all of it. */
		s3.seen.length = 0;
		s3.next.push(undefined, undefined, 503);
		const made = await sandbox.createBackup(options);
		assert.deepEqual(s3.faults, []);
		assert.deepEqual(s3.seen.map((line) =>
			/partNumber=\d+/.exec(line)?.[0] ?? line.split(/[ ?=]/)[2]),
		['uploads', 'partNumber=1', 'partNumber=2', 'partNumber=2',
			'partNumber=3', 'uploadId']);
		const [[, bytes]] = s3.objects;
		assert.equal(bytes.length, made.sizeBytes);
		assert.equal(s3.uploads.size, 0);
		await sh(sandbox, 'rm -rf d');
		await sandbox.restoreBackup(made);
		assert.equal(await sh(sandbox, 'sha256sum d/f'), want);
		await deleteBackup(made.id, here());
		await storeEmpty();

		/* Refused, or told as a success that it is not. */
		s3.next.push(undefined, undefined, 403);
		await fails();
		s3.next.push(undefined, undefined, undefined, undefined,
			(_, response) => response.end('<?xml version="1.0"?>\n' +
				'<Error><Code>InternalError</Code></Error>'));
		await fails();
		await storeEmpty();
		/* A worker that dies between them. */
		const part = new Promise((resolve) =>
			s3.next.push(undefined, undefined, resolve));
		const call = sandbox.createBackup(options)
			.then(() => 'made', () => 'failed');
		await part;
		assert.equal(s3.uploads.size, 1);
		await killWorkers();
		assert.equal(await call, 'failed');
		await storeEmpty();
		await settled([]);
		assert.deepEqual(s3.faults, []);
		await sandbox.destroy();
	});

test('a section that is wrong stops a start, and it is said why', limit,
	async () => {
		await server.stop(stack.data);
		writeFileSync(path.join(stack.data, 'warren.ini'),
			'[backup]\nbucket = test-bucket\n');
		await assert.rejects(server.start(stack),
			/\[backup\] has no endpoint/);
	});
