/**
 * The operator's proofs: warren doctor and warren selftest against the
 * running service.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 120_000 };

test('the doctor finds a running service in order', limit, async (t) => {
	if (stack.noOperator)
		return t.skip(stack.noOperator);
	const checks = JSON.parse(await stack.warren('doctor', '--json'));
	const state = Object.fromEntries(checks.map((c) => [c.check, c.state]));

	for (const name of ['kernel', 'namespaces', 'overlay', 'cgroup',
		'directories', 'nginx configuration', 'broker', 'programs',
		'port', 'ctl.db', 'node.db', 'logs.db'])
		assert.equal(state[name], 'ok', name);
	for (const check of checks)
		assert.equal(check.fix === undefined, check.state === 'ok',
			check.check);
});

test('the selftest refuses every attempt, starts 100 and leaves nothing',
	limit, async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		const before = await stack.warren('tenant', 'list');
		const { attempts, burst } = JSON.parse(
			await stack.warren('selftest', '--json'));

		assert.ok(attempts.length >= 16, `${attempts.length} attempts`);
		for (const { name, result, why } of attempts)
			assert.equal(result, 'pass', `${name}: ${why}`);
		assert.ok(burst.allMs > 0 && burst.destroyMs > 0);
		assert.ok(burst.cgroupBytes > 0 && burst.keeperBytes > 0);
		assert.equal(await stack.warren('tenant', 'list'), before);
		assert.doesNotMatch(await stack.warren('key', 'list'),
			/selftest-/);
		assert.doesNotMatch(await stack.warren('sql',
			'SELECT name FROM sandboxes'), /burst-|selftest-/);
	});

test('a selftest elsewhere needs but a key, and skips what it cannot see',
	limit, async (t) => {
		if (stack.noOperator)
			return t.skip('needs the command');
		const { attempts, burst } = JSON.parse(await stack.warren(
			'selftest', '--json', '--url', stack.url,
			'--key', stack.apiKey));
		const results = new Set(attempts.map((a) => a.result));

		assert.deepEqual([...results].sort(), ['pass', 'skip']);
		assert.equal(burst.cgroupBytes, undefined);
		await assert.rejects(stack.warren('selftest', '--url',
			stack.url), /--url and --key/);
	});

test('a selftest that cannot begin says why and no more', limit, async (t) => {
	if (stack.noOperator)
		return t.skip(stack.noOperator);
	for (const [url, key, why] of [
		['ftp://localhost', 'x', /begins with http/],
		['', 'x', /begins with http/],
		['http://127.0.0.1:1', 'x', /does not answer/],
		[stack.url, 'wrn_bad', /answered 401: The API key/]])
		await assert.rejects(
			stack.warren('selftest', '--url', url, '--key', key),
			(error) => {
				assert.match(error.message, why);
				assert.doesNotMatch(error.message,
					/stays|Attempts that/);
				return true;
			});
});

test('the selftest has room where plans leave none', limit, async (t) => {
	if (stack.noOperator)
		return t.skip(stack.noOperator);
	const row = await stack.warren('plan', 'list');
	const [, most] = /^default\t.*\tsandboxes=(\d+)/m.exec(row);

	await stack.warren('plan', 'set', 'default',
		'--limit', 'sandboxes=20', '--limit', 'memoryBytes=64M');
	try {
		const { attempts } = JSON.parse(
			await stack.warren('selftest', '--json'));
		assert.ok(attempts.every(({ result }) => result === 'pass'));
	} finally {
		await stack.warren('plan', 'set', 'default', '--limit',
			`sandboxes=${most}`, '--limit', 'memoryBytes=1G');
	}
});

test('a wrong command line is told in one line, with a hint', limit,
	async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		for (const [words, sentence] of [
			[['tenant'], 'after tenant comes one of add, list, ' +
				'remove, set'],
			[['tenant', 'add'],
				'tenant add takes 1 argument, and 0 are given'],
			[['fly'], 'there is no command fly'],
			[['--fly'], 'there is no option --fly'],
			[['key', 'add', 'x', '--scope'],
				'--scope needs a value'],
		])
			await assert.rejects(stack.warren(...words),
				({ code, stderr }) => code === 2 &&
					stderr === `warren: ${sentence}; see warren ` +
						'--help\n');
		assert.match(await stack.warren('--version'),
			/^warren \d+\.\d+\.\d+\n$/);
	});

test('a statement may begin with a comment', limit, async (t) => {
	if (stack.noOperator)
		return t.skip(stack.noOperator);
	assert.equal(await stack.warren('sql', '-- one\nSELECT 1 AS n',
		'--json'), '[{"n":1}]\n');
});

test('SQL only reads, and an endless query ends', limit, async (t) => {
	if (stack.noOperator)
		return t.skip(stack.noOperator);
	for (const text of ['DELETE FROM tenants', 'PRAGMA user_version = 5',
		'ATTACH \'/etc/passwd\' AS p', 'SELECT 1; SELECT 2',
		'SELECT hash FROM main.api_keys'])
		await assert.rejects(stack.warren('sql', text),
			({ code, stderr }) => code === 1 && stderr !== '', text);
	await assert.rejects(stack.warren('sql',
		'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) ' +
		'SELECT count(*) FROM n'), ({ code }) => code === 1);
});
