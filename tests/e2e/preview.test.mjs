/**
 * Preview URLs: what a server inside answers is what the browser gets.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { connect } from './lib/ws.mjs';
import {
	fetchRaw, guest, open, until, useStack, within,
} from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };

/** The test application on ${port} of a new sandbox, and its URL. */
async function startApp(t, port = 8100, address = '127.0.0.1') {
	const sandbox = stack.sandbox(t);

	await sandbox.writeFile('/workspace/app.js', await guest('app.js'));
	const app = await sandbox.startProcess(
		`node app.js ${port} ${address}`);
	await app.waitForLog('app listens', 20_000);
	const exposed = await sandbox.exposePort(port);
	return { sandbox, app, ...exposed, at: (path) => new URL(path, exposed.url) };
}

test('exposePort answers a URL of port, sandbox and token', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const exposed = await sandbox.exposePort(8000, { name: 'web' });
		const { id } = await sandbox.getInfo();
		const url = new URL(exposed.url);

		assert.match(exposed.token, /^[a-z0-9]{16}$/);
		assert.equal(url.hostname.split('.')[0],
			`8000-${id}-${exposed.token}`);
		assert.equal(exposed.name, 'web');
		assert.equal(url.port, new URL(stack.url).port);
		const ports = await sandbox.getExposedPorts();
		assert.equal(ports.length, 1);
		assert.equal(ports[0].port, 8000);
		assert.equal(ports[0].url, exposed.url);
		assert.equal(await sandbox.isPortExposed(8000), true);
		assert.equal(await sandbox.isPortExposed(8001), false);
	});

test('method, headers, query and body arrive and come back', limit,
	async (t) => {
		const { at, port, url } = await startApp(t);
		const answer = await fetchRaw(at('/echo?a=1&b=%20'), {
			method: 'PUT',
			headers: { 'X-Mine': 'yes', 'Content-Type': 'text/x' },
			body: 'the body',
		});

		assert.equal(answer.status, 200);
		assert.equal(answer.headers['x-app'], 'yes');
		const seen = JSON.parse(answer.text);
		assert.equal(seen.method, 'PUT');
		assert.equal(seen.url, '/echo?a=1&b=%20');
		assert.equal(seen.headers['x-mine'], 'yes');
		assert.equal(seen.body, 'the body');
		assert.equal(seen.headers.host, `localhost:${port}`);
		assert.equal(seen.headers['x-forwarded-host'],
			new URL(url).host);
	});

test('statuses and redirects pass untouched', limit, async (t) => {
	const { at } = await startApp(t);
	const redirect = await fetchRaw(at('/redirect'));

	assert.equal(redirect.status, 307);
	assert.equal(redirect.headers.location, '/echo?from=redirect');
	const teapot = await fetchRaw(at('/teapot'));
	assert.equal(teapot.status, 418);
	assert.equal(teapot.text, 'short and stout');
	const missing = await fetchRaw(at('/none'));
	assert.equal(missing.status, 404);
	assert.equal(missing.text, 'the application has no such page');
});

test('server-sent events are not held back', limit, async (t) => {
	const { at } = await startApp(t);
	const response = await within(5000, 'the head', open(at('/events')));
	const parts = response[Symbol.asyncIterator]();
	const first = await within(5000, 'the first event', parts.next());

	assert.equal(first.value.toString(), 'data: first\n\n');
	/* Only now does the application send the second one. */
	await fetchRaw(at('/release'));
	const second = await within(5000, 'the second event', parts.next());
	assert.equal(second.value.toString(), 'data: second\n\n');
});

test('a large answer comes whole', limit, async (t) => {
	const { at } = await startApp(t);
	const { bytes } = await fetchRaw(at('/big'));

	assert.equal(bytes.length, 8 << 20);
	assert.ok(bytes.every((byte) => byte === 0x78));
});

test('a WebSocket echoes, two at once', limit, async (t) => {
	const { url } = await startApp(t);
	const [one, two] = await Promise.all([connect(url), connect(url)]);

	one.send('hello one');
	two.send('hello two');
	assert.equal(await within(5000, 'the first echo', one.next()),
		'hello one');
	assert.equal(await within(5000, 'the second echo', two.next()),
		'hello two');
	one.close();
	two.send('still there');
	assert.equal(await within(5000, 'the third echo', two.next()),
		'still there');
	two.close();
});

test('a server on ::1 only is reached', limit, async (t) => {
	const { at } = await startApp(t, 8100, '::1');

	assert.equal((await fetchRaw(at('/teapot'))).status, 418);
});

test('a program inside cannot make nginx answer for it', limit,
	async (t) => {
		const { at } = await startApp(t);
		const answer = await fetchRaw(at('/accel'));

		assert.equal(answer.status, 200);
		assert.equal(answer.text, 'my own body');
	});

test('where nothing listens yet is 503, and works once something does',
	limit, async (t) => {
		const sandbox = stack.sandbox(t);
		const { url } = await sandbox.exposePort(8200);

		assert.equal((await fetchRaw(url)).status, 503);
		await sandbox.writeFile('app.js', await guest('app.js'));
		await sandbox.startProcess('node app.js 8200');
		await until(15_000, 'the application', async () =>
			(await fetchRaw(new URL('/teapot', url))).status === 418);
	});

test('wrong token, port and sandbox are the same 404', limit, async (t) => {
	const { url, token } = await startApp(t);
	const answers = [];

	for (const wrong of [
		url.replace(token, 'a'.repeat(16)),
		url.replace('8100-', '8101-'),
		url.replace(/-[a-z0-9]{22}-/, `-s00000${'a'.repeat(16)}-`),
		url.replace(`-${token}`, ''),
	]) {
		assert.notEqual(wrong, url);
		answers.push(await fetchRaw(wrong));
	}
	for (const { status, text } of answers) {
		assert.equal(status, 404);
		assert.doesNotMatch(text, /nginx/);
	}
	await assert.rejects(connect(answers.length && url.replace(
		token, 'b'.repeat(16))), { status: 404 });
});

test('an unknown host is 404', limit, async () => {
	const answer = await fetchRaw(stack.url,
		{ headers: { Host: 'example.org' } });

	assert.equal(answer.status, 404);
});

test('an unexposed port is unreachable, its sockets too', limit,
	async (t) => {
		const { sandbox, url, port } = await startApp(t);

		await sandbox.unexposePort(port);
		assert.equal((await fetchRaw(url)).status, 404);
		await assert.rejects(connect(url), { status: 404 });
		assert.deepEqual(await sandbox.getExposedPorts(), []);
		/* Once more is no error. */
		await sandbox.unexposePort(port);
		const again = await sandbox.exposePort(port);
		assert.notEqual(again.url, url);
		assert.equal((await fetchRaw(new URL('/teapot', again.url)))
			.status, 418);
		assert.equal((await fetchRaw(url)).status, 404);
	});

test('a deleted sandbox is unreachable', limit, async (t) => {
	const { sandbox, url } = await startApp(t);

	await sandbox.destroy();
	assert.equal((await fetchRaw(url)).status, 404);
});

test('a token of one\'s own stands in the URL', limit, async (t) => {
	const sandbox = stack.sandbox(t);
	const { url, token } = await sandbox.exposePort(8300,
		{ token: 'mytoken1' });

	assert.equal(token, 'mytoken1');
	assert.match(url, /-mytoken1\./);
});

test('bad ports and tokens are 400', limit, async (t) => {
	const sandbox = stack.sandbox(t);

	for (const port of [0, -1, 65536, 1.5, '8000', null, 22, 3000])
		await assert.rejects(sandbox.exposePort(port),
			{ httpStatus: 400 }, `port ${port}`);
	for (const token of ['', 'UPPER', 'a-b', 'a.b', '../x',
		'x'.repeat(17)])
		await assert.rejects(sandbox.exposePort(8000, { token }),
			{ httpStatus: 400 }, `token ${token}`);
});

test('a server that ends is 503 until it is back', limit, async (t) => {
	const { sandbox, app, at } = await startApp(t);

	await app.kill();
	await until(5000, '503', async () =>
		(await fetchRaw(at('/teapot'))).status === 503);
	await sandbox.startProcess('node app.js 8100');
	await until(15_000, 'the application', async () =>
		(await fetchRaw(at('/teapot'))).status === 418);
});

/** Answers with a length, then hangs up without having said so. */
const rude = `
const net = require('node:net');
net.createServer((socket) => {
	socket.on('error', () => {});
	socket.on('data', () => {
		socket.write('HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok');
		if (Math.random() < 0.5)
			setTimeout(() => socket.destroy(), Math.random() * 4);
	});
}).listen(8123, '127.0.0.1', () => console.log('rude listens'));
`;

test('a server that hangs up on kept connections loses no GET', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);

		await sandbox.writeFile('/workspace/rude.js', rude);
		const server = await sandbox.startProcess('node rude.js');
		await server.waitForLog('rude listens', 20_000);
		const { url } = await sandbox.exposePort(8123);
		for (let i = 0; i < 300; i++) {
			const answer = await fetchRaw(url);

			assert.equal(`${i} ${answer.status} ${answer.text}`,
				`${i} 200 ok`);
		}
	});

test('kept connections of one preview never serve another', limit,
	async (t) => {
		const apps = await Promise.all([1, 2, 3].map(async (n) => {
			const sandbox = stack.sandbox(t);

			await sandbox.writeFile('/workspace/n.js', `
				require('node:http').createServer((q, r) => r.end('${n}'))
				.listen(8200, () => console.log('up'));`);
			const server = await sandbox.startProcess('node n.js');
			await server.waitForLog('up', 20_000);
			return { n, ...await sandbox.exposePort(8200) };
		}));

		await Promise.all(Array.from({ length: 150 }, async (_, i) => {
			const { n, url } = apps[i % 3];

			assert.equal((await fetchRaw(url)).text, String(n));
		}));
	});
