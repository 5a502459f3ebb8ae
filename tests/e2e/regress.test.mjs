/**
 * What once went wrong for a user, as the case that failed.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { until, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 120_000 };

/* ---- strays ---- */

test('kill-all ends a fork bomb that outlived its command', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.create({ limits: { pids: 64 } });
		await sandbox.exec(':(){ :|:& };:').catch(() => undefined);
		const full = await until(20_000, 'a full sandbox', async () => {
			try {
				await sandbox.exec('true');
				return undefined;
			} catch (error) {
				return error;
			}
		});
		assert.equal(full.httpStatus, 429);
		assert.equal(full.code, 'LIMIT_EXCEEDED');
		assert.equal(full.context.name, 'pids');
		assert.equal(full.context.limit, 64);
		assert.ok(full.context.used > 32, `${full.context.used}`);
		assert.match(full.suggestion, /kill-all/);
		assert.ok(await sandbox.killAllProcesses() >= 1);
		await sandbox.writeFile('after', 'works');
		assert.equal((await sandbox.readFile('after')).content, 'works');
		assert.equal((await sandbox.exec('echo fine')).stdout, 'fine\n');
	});

test('kill-all ends what a command left in the background', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const { stdout } = await sandbox.exec(
			'setsid sleep 1000 >/dev/null 2>&1 & echo $!');

		assert.equal(await sandbox.killAllProcesses(), 1);
		const { exitCode } = await sandbox.exec(`kill -0 ${stdout}`);
		assert.notEqual(exitCode, 0);
		assert.equal(await sandbox.killAllProcesses(), 0);
	});
