/**
 * Another tenant's sandbox, by its id: every route says what it says of an id
 * that nobody has, and nothing happens. The table of routes is the service's
 * own, so that one which is added has to be tried here, too.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { uniqueName, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };

/** What a call that would be carried out has in its body. */
const BODIES = {
	'api/execute': { command: 'touch /workspace/touched' },
	'api/execute/stream': { command: 'touch /workspace/touched' },
	'api/session/create': { id: 'theirs' },
	'api/session/delete': { sessionId: 'default' },
	'api/process/start': { command: 'touch /workspace/touched' },
	'api/process/{id}/wait': { for: 'exit' },
	'api/port-watch': { port: 8000 },
	'api/process/{id}/signal': { signal: 'SIGKILL' },
	'api/process/{id}/stdin': { data: 'x' },
	'api/ports': { port: 8001 },
	'api/contexts': { language: 'python' },
	'api/contexts/{id}/interrupt': {},
	'api/contexts/{id}/restart': {},
	'api/execute/code': { code: 'open("/workspace/touched", "w")' },
	'api/read': { path: '/workspace/kept' },
	'api/read/stream': { path: '/workspace/kept' },
	'api/write': { path: '/workspace/touched', content: 'x' },
	'api/delete': { path: '/workspace/kept' },
	'api/rename': { oldPath: '/workspace/kept', newPath: '/workspace/x' },
	'api/move': {
		sourcePath: '/workspace/kept', destinationPath: '/workspace/x',
	},
	'api/mkdir': { path: '/workspace/touched' },
	'api/list-files': { path: '/workspace' },
	'api/exists': { path: '/workspace/kept' },
	'api/write-files': {
		files: [{ path: '/workspace/touched', content: 'x' }],
	},
	'api/stat': { path: '/workspace/kept' },
	'api/copy': {
		sourcePath: '/workspace/kept', destinationPath: '/workspace/x',
	},
	'api/links': { path: '/workspace/kept' },
	'api/chmod': { path: '/workspace/kept', mode: '0700' },
	'api/watch': { path: '/workspace' },
	'api/watch/check': { path: '/workspace' },
	'api/backup/create': { dir: '/workspace' },
	'api/backup/restore': { archivePath: '/var/backups/kept' },
	'api/git/checkout': { repoUrl: '/workspace/kept' },
	'api/git/checkout/stream': { repoUrl: '/workspace/kept' },
	'api/git/pull': { path: '/workspace' },
	'api/git/pull/stream': { path: '/workspace' },
	'api/git/push': { path: '/workspace' },
	'api/git/push/stream': { path: '/workspace' },
	'api/git/status': { path: '/workspace' },
	'api/git/log': { path: '/workspace' },
	'api/git/diff': { path: '/workspace' },
	'api/git/branch/list': { path: '/workspace' },
	'api/git/branch/create': { path: '/workspace', name: 'x' },
	'api/git/branch/switch': { path: '/workspace', name: 'x' },
	'api/git/commit': { path: '/workspace', message: 'x' },
	'api/terminal': {},
	'api/terminal/ticket': {},
	'api/ports/{port}/links': {},
	'api/ports/{port}/names': { name: 'x' },
	sleep: {},
	wake: {},
	stop: {},
	start: {},
	touch: {},
};

const routes = [...readFileSync(
	new URL('../../fcgi/routes.def', import.meta.url), 'utf8')
	.matchAll(/^ROUTE\((\w+), "\/v1\/sandboxes\/\{sandbox\}([^"]*)"/gm)]
	.map(([, method, rest]) => ({ method, path: rest.replace(/^\//, '') }));

test('no route leads into another tenant\'s sandbox by its id', limit,
	async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		const theirs = stack.sandbox(t,
			{ apiKey: await stack.newTenant() });

		await theirs.exec('echo kept >kept');
		const kept = await theirs.startProcess('sleep 1000');
		const context = await theirs.createCodeContext({ language: 'python' });
		const { id } = await theirs.getInfo();
		const nobodys = id.slice(0, -4) + 'aaaa';
		const ids = [kept.id, context.id, 'default'];
		const asked = async (sandbox, { method, path }, named) => {
			const known = Object.hasOwn(BODIES, path);
			const { status, json, text } = await stack.call(method,
				`/v1/sandboxes/${sandbox}/${path}`
					.replace('{id}', named).replace('{port}', '8000')
					.replace('{path*}', 'kept'),
				method === 'POST' && known ? BODIES[path] : undefined);

			return { status, code: json?.code, text };
		};

		assert.ok(routes.length > 40);
		for (const route of routes) {
			const what = `${route.method} ${route.path}`;

			assert.ok(route.method !== 'POST' ||
				Object.hasOwn(BODIES, route.path),
			`${what}: no body to try it with`);
			for (const named of route.path.includes('{id}') ? ids : ['']) {
				const foreign = await asked(id, route, named);
				const none = await asked(nobodys, route, named);

				assert.equal(foreign.status, 404, what + foreign.text);
				assert.equal(foreign.code, none.code, what);
				assert.equal(none.status, 404, what);
			}
		}
		assert.equal((await theirs.exec('ls')).stdout, 'kept\n');
		assert.equal(await kept.getStatus(), 'running');
		assert.deepEqual((await theirs.runCode('1', { context })).results
			.map(({ text }) => text), ['1']);
		assert.equal((await theirs.listCodeContexts()).length, 1);
	});

test('a name of another tenant\'s is free for every other', limit,
	async (t) => {
		if (stack.noOperator)
			return t.skip(stack.noOperator);
		const name = uniqueName();
		const apiKey = await stack.newTenant();
		const theirs = stack.sandbox(t, { name, apiKey });
		const ours = stack.sandbox(t, { name });
		const key = { 'Idempotency-Key': `same-${name}` };

		await theirs.exec('echo theirs >file');
		assert.equal((await ours.exec('cat file')).exitCode, 1);
		/* The same key is not the same call, either. */
		const run = (by) => stack.call('POST',
			`/v1/sandboxes/${name}/api/execute`, { command: 'ls' },
			{ headers: { ...key, Authorization: `Bearer ${by}` } });
		const first = await run(apiKey);

		assert.equal(first.status, 200, first.text);
		assert.equal(first.json.stdout, 'file\n');
		const second = await run(stack.apiKey);

		assert.equal(second.json.stdout, '');
		assert.equal(second.headers['idempotent-replayed'], undefined);
	});
