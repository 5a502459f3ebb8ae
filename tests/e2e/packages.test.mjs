/**
 * What root of a sandbox installs from local files: pip, venv, npm; and what
 * running contexts see of it. (apt-get: tests/images.)
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fetchRaw, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 120_000 };

/** A wheel is a zip file; Python makes it inside. */
const WHEEL = `
import sys, zipfile
name, version = sys.argv[1:]
info = f"{name}-{version}.dist-info"
with zipfile.ZipFile(f"{name}-{version}-py3-none-any.whl", "w") as z:
    z.writestr(f"{name}/__init__.py", f"VALUE = {version!r}\\ndef main(): print(VALUE)\\n")
    z.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    z.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    z.writestr(f"{info}/entry_points.txt", f"[console_scripts]\\n{name}-run = {name}:main\\n")
    z.writestr(f"{info}/RECORD", "")
`;

async function run(sandbox, command, options) {
	const done = await sandbox.exec(command, options);

	assert.equal(done.exitCode, 0,
		`${command}: ${done.stdout}\n${done.stderr}`);
	return done.stdout;
}

async function withWheels(t, ...versions) {
	const sandbox = stack.sandbox(t);

	await sandbox.writeFile('/workspace/wheel.py', WHEEL);
	for (const version of versions)
		await run(sandbox, `python3 wheel.py wtest ${version}`);
	return sandbox;
}

/** The text that a run of code prints or gives. */
async function said(sandbox, context, code) {
	const done = await sandbox.runCode(code, { context });

	assert.equal(done.error, undefined, JSON.stringify(done.error));
	return done.logs.stdout.join('') +
		done.results.map((result) => result.text).join('');
}

test('pip installs a wheel, upgrades and removes it', limit, async (t) => {
	const sandbox = await withWheels(t, '1.0', '2.0');

	await run(sandbox, 'pip install ./wtest-1.0-py3-none-any.whl');
	assert.equal(await run(sandbox, 'wtest-run'), '1.0\n');
	assert.equal(await run(sandbox,
		'python3 -c "import wtest; wtest.main()"', { user: 'sandbox' }),
	'1.0\n');
	await run(sandbox, 'pip install ./wtest-2.0-py3-none-any.whl');
	assert.equal(await run(sandbox, 'wtest-run'), '2.0\n');
	await run(sandbox, 'pip uninstall -y wtest');
	assert.equal((await sandbox.exec('wtest-run')).exitCode, 127);
});

test('pip --user and a venv keep to themselves', limit, async (t) => {
	const sandbox = await withWheels(t, '1.0', '2.0');

	await run(sandbox,
		'pip install --user ./wtest-1.0-py3-none-any.whl');
	assert.equal(await run(sandbox, '~/.local/bin/wtest-run'), '1.0\n');
	await run(sandbox, 'python3 -m venv .venv && ' +
		'.venv/bin/pip install ./wtest-2.0-py3-none-any.whl');
	assert.equal(await run(sandbox,
		'.venv/bin/wtest-run; python3 -m wtest 2>/dev/null; ' +
		'python3 -c "import wtest; wtest.main()"'), '2.0\n1.0\n');
});

test('%pip installs for the context that runs', limit, async (t) => {
	const sandbox = await withWheels(t, '1.0');
	const context = await sandbox.createCodeContext({ language: 'python' });

	await said(sandbox, context, 'kept = 41');
	assert.match(await said(sandbox, context,
		'%pip install ./wtest-1.0-py3-none-any.whl'),
	/Successfully installed wtest-1\.0/);
	assert.equal(await said(sandbox, context,
		'import wtest; (kept + 1, wtest.VALUE)'), "(42, '1.0')");
});

test('a running context imports what a command installed', limit,
	async (t) => {
		const sandbox = await withWheels(t, '1.0');
		const context = await sandbox.createCodeContext({
			language: 'python' });

		assert.equal(await said(sandbox, context,
			'try:\n import wtest\n' +
			'except ImportError: print("none")'), 'none\n');
		await run(sandbox, 'pip install ./wtest-1.0-py3-none-any.whl');
		assert.equal(await said(sandbox, context,
			'import wtest; wtest.VALUE'), "'1.0'");
	});

/** Packs a package inside, as npm pack does. */
async function withTarball(t) {
	const sandbox = stack.sandbox(t);

	await sandbox.exec('mkdir -p package');
	await sandbox.writeFile('/workspace/package/package.json',
		JSON.stringify({ name: 'wtest', version: '1.2.3',
			bin: { 'wtest-run': 'run.js' } }));
	await sandbox.writeFile('/workspace/package/index.js',
		'exports.value = 42;\n');
	await sandbox.writeFile('/workspace/package/run.js',
		'#!/usr/bin/env node\nconsole.log(require("./").value);\n');
	await run(sandbox, 'tar czf wtest.tgz package && rm -rf package');
	return sandbox;
}

test('npm installs a tarball for require and import', limit, async (t) => {
	const sandbox = await withTarball(t);

	await run(sandbox, 'npm install ./wtest.tgz');
	assert.equal(await run(sandbox,
		'node -p "require(\'wtest\').value"; ' +
		'node --input-type=module -e "import wtest from \'wtest\'; ' +
		'console.log(wtest.value)"; npx wtest-run'), '42\n42\n42\n');
	const context = await sandbox.createCodeContext({
		language: 'javascript' });
	assert.equal(await said(sandbox, context,
		'require("wtest").value'), '42');
	assert.equal(await said(sandbox, context,
		'(await import("wtest")).default.value'), '42');
});

test('npm installs programs for all', limit, async (t) => {
	const sandbox = await withTarball(t);

	await run(sandbox, 'npm install -g ./wtest.tgz');
	assert.equal(await run(sandbox, 'wtest-run'), '42\n');
});

for (const user of ['root', 'sandbox'])
	test(`a preview of port 80 that ${user} listens on`, limit,
		async (t) => {
			const sandbox = stack.sandbox(t);

			await sandbox.writeFile('/workspace/www/index.html',
				`served by ${user}`);
			const server = await sandbox.startProcess(
				'python3 -um http.server 80 -d www', { user });
			await server.waitForLog('Serving HTTP', 20_000);
			const { url } = await sandbox.exposePort(80);
			const answer = await fetchRaw(url);

			assert.equal(answer.status, 200);
			assert.equal(answer.text, `served by ${user}`);
		});
