/**
 * What is left of the public client: its utilities and its error classes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { limit, useWire } from './client.mjs';

const wire = useWire();

test('utils: ping answers with a message, the version is told', limit,
	async (t) => {
		const { commands, utils } = wire.client(t);

		await commands.execute('true', 's');
		assert.equal(typeof await utils.ping(), 'string');
		assert.match(await utils.getVersion(), /^\d+\.\d+/);
	});

test('utils: the commands of the sandbox are listed', limit, async (t) => {
	const reason = await wire.lacks('GET', '/api/commands');
	if (reason)
		return t.skip(reason);
	const { commands, utils } = wire.client(t);

	await commands.execute('true', 's');
	const list = await utils.getCommands();
	for (const name of ['bash', 'git', 'python3', 'node'])
		assert.ok(list.includes(name), name);
});

test('utils: a session\'s answer has its id and placement', limit,
	async (t) => {
		const { utils } = wire.client(t);
		const made = await utils.createSession(
			{ id: 'sandbox-x', env: { A: '1' }, cwd: '/workspace' });

		assert.equal(made.success, true);
		assert.equal(made.data.id, 'sandbox-x');
		assert.ok('containerPlacementId' in made);
		assert.ok(!Number.isNaN(Date.parse(made.timestamp)));
		await assert.rejects(utils.deleteSession('none'), (error) =>
			error.httpStatus === 404 && error.message.length > 0);
	});

test('errors: each has the class, the context and the operation of its kind',
	limit, async (t) => {
		const { commands, files, processes, utils } = wire.client(t);
		const context = async (call, name, wanted, operation) =>
			assert.rejects(call, (error) => {
				assert.equal(error.name, name);
				assert.ok(error.code.length > 0);
				for (const [key, value] of Object.entries(wanted))
					assert.equal(error.context[key], value);
				if (operation)
					assert.equal(error.operation, operation);
				assert.ok(!Number.isNaN(Date.parse(error.timestamp)));
				return true;
			});

		await commands.execute('echo x > f; mkdir d', 's');
		await context(files.readFile('/workspace/no', 's'),
			'FileNotFoundError', { path: '/workspace/no' }, 'file.read');
		await context(files.mkdir('/workspace/d', 's'),
			'FileExistsError', { path: '/workspace/d' },
			'directory.create');
		await context(files.readFile('/workspace/f/x', 's'),
			'FileSystemError', { path: '/workspace/f/x' }, 'file.read');
		await context(processes.getProcess('no'),
			'ProcessNotFoundError', { processId: 'no' });
		await context(commands.execute('', 's'), 'CommandError', {});
		await context(files.readFile('', 's'), 'ValidationFailedError', {});
		await context(utils.createSession({ id: '../x' }),
			'ValidationFailedError', {});
	});
