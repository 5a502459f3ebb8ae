/**
 * What becomes of refusals.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';

import { getSandbox, SandboxError } from '../index.js';

const answer = (status, body, headers) =>
	SandboxError.fromResponse(new Response(body, { status, headers }));

test('an error answer becomes an error with all its fields', async () => {
	const error = await answer(404, JSON.stringify({
		code: 'FILE_NOT_FOUND',
		message: 'No such file',
		context: { path: '/x' },
		httpStatus: 404,
		timestamp: '2025-01-01T00:00:00.000Z',
		requestId: 'r1',
		suggestion: 'Look elsewhere',
	}));

	assert.ok(error instanceof Error);
	assert.equal(error.name, 'SandboxError');
	assert.equal(error.code, 'FILE_NOT_FOUND');
	assert.equal(error.message, 'No such file');
	assert.deepEqual(error.context, { path: '/x' });
	assert.equal(error.httpStatus, 404);
	assert.equal(error.requestId, 'r1');
	assert.equal(error.suggestion, 'Look elsewhere');
});

test('an answer with only an error text keeps that text', async () => {
	const error = await answer(400,
		'{"error":"Unknown language","code":"X"}');

	assert.equal(error.message, 'Unknown language');
	assert.equal(error.code, 'X');
});

test('a page of a proxy is told with its status', async () => {
	const error = await answer(502, '<html>Bad Gateway</html>',
		{ 'X-Request-Id': 'r2' });

	assert.equal(error.code, 'INVALID_JSON_RESPONSE');
	assert.equal(error.httpStatus, 502);
	assert.equal(error.requestId, 'r2');
});

test('the status line wins over the body', async () => {
	const error = await answer(500, '{"code":"A","httpStatus":200}');

	assert.equal(error.httpStatus, 500);
});

test('without a key there is a typed error before any call', () => {
	const before = process.env.WARREN_API_KEY;

	delete process.env.WARREN_API_KEY;
	try {
		assert.throws(() => getSandbox('a'),
			{ code: 'MISSING_CREDENTIALS' });
	} finally {
		if (before !== undefined)
			process.env.WARREN_API_KEY = before;
	}
});

test('what is no name is refused before any call', () => {
	for (const name of [undefined, null, '', 7])
		assert.throws(() => getSandbox(name, { apiKey: 'k' }),
			{ code: 'VALIDATION_FAILED' });
});

test('a service that is not there is CONNECTION_FAILED', async () => {
	/* A port that was free a moment ago. */
	const port = await new Promise((resolve) => {
		const server = createServer().listen(0, '127.0.0.1', () => {
			const { port } = server.address();
			server.close(() => resolve(port));
		});
	});
	const sandbox = getSandbox('a',
		{ url: `http://127.0.0.1:${port}`, apiKey: 'wrn_x' });

	await assert.rejects(sandbox.exec('true'), (error) => {
		assert.ok(error instanceof SandboxError);
		assert.equal(error.code, 'CONNECTION_FAILED');
		assert.equal(error.httpStatus, 0);
		return true;
	});
});

test('an abort throws the reason of the signal', async () => {
	const sandbox = getSandbox('a',
		{ url: 'http://127.0.0.1:1', apiKey: 'wrn_x' });
	const reason = new Error('changed my mind');

	await assert.rejects(
		sandbox.exec('true', { signal: AbortSignal.abort(reason) }),
		reason);
});
