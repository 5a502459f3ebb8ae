/**
 * A link that is swapped in between check and use: 10,000 tries to lead a file
 * call out of the sandbox, or out of the tree that it was given.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { guest, uniqueName, useStack } from './stack.mjs';

const stack = useStack();
const TRIES = 10_000;
const AT_ONCE = 8;
const SECRET = 'of the machine alone';
const run = promisify(execFile);

test('10,000 swapped links lead no call outside', { timeout: 400_000 },
	async (t) => {
		const sandbox = stack.sandbox(t);
		const host = `/tmp/${uniqueName()}`;
		const base = `/v1/sandboxes/${sandbox.name}`;

		await writeFile(host, SECRET, { mode: 0o666 });
		t.after(() => rm(host, { force: true }));
		await sandbox.writeFile('/tmp/swap.py', await guest('swap.py'));
		await sandbox.exec('mkdir out race; ' +
			'echo kept-outside >out/secret-out');
		await sandbox.startProcess(`python3 /tmp/swap.py ${host}`,
			{ processId: 'swap', cwd: '/workspace' });
		const { stdout: packed } = await run('python3',
			[new URL('guest/make_archive.py', import.meta.url).pathname,
				'tar', JSON.stringify([{ name: 'dir/planted',
					data: 'x' }])],
			{ encoding: 'buffer' });
		const calls = {
			read: () => stack.call('GET', `${base}/files/race/file`),
			write: () => stack.call('PUT', `${base}/files/race/file`,
				'inside'),
			list: () => stack.call('POST', `${base}/api/list-files`,
				{ path: '/workspace/race', options: {
					recursive: true } }),
			delete: () => stack.call('DELETE',
				`${base}/files/race/t?recursive`),
			pack: () => stack.call('GET', `${base}/archive/race`),
			unpack: () => stack.call('PUT', `${base}/archive/race/t`,
				packed),
		};
		const names = Object.keys(calls);
		const seen = Object.fromEntries(names.map((n) => [n, {}]));
		let next = 0;
		const worker = async () => {
			while (next < TRIES) {
				const name = names[next++ % names.length];
				const { status, text } = await calls[name]()
					.catch((error) => ({ status: error.code,
						text: '' }));
				seen[name][status] = (seen[name][status] ?? 0) + 1;
				assert.ok(!text.includes(SECRET), name);
				assert.ok(!text.includes('kept-outside'), name);
				assert.ok(!text.includes('secret-out'), name);
			}
		};

		await Promise.all(Array.from({ length: AT_ONCE }, worker));
		await sandbox.exec('touch /workspace/race/stop');
		t.diagnostic(JSON.stringify(seen));
		assert.equal(await readFile(host, 'utf8'), SECRET);
		const { stdout } = await sandbox.exec(
			'cd /workspace/out; ls -A; cat secret-out');
		assert.equal(stdout, 'secret-out\nkept-outside\n');
		/* It was a race: both of the two were met. */
		assert.ok(seen.read[200] > 0 && seen.delete[204] > 0);
		assert.ok(seen.unpack[200] > 0 && seen.list[200] > 0);
	});
