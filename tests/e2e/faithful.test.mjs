/**
 * What passes a preview is what would pass without it: the bytes of heads and
 * bodies, compared with a program inside that asks the same server directly.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import http from 'node:http';
import net from 'node:net';
import { Readable } from 'node:stream';
import { test } from 'node:test';

import { addressOf } from './lib/http.mjs';
import { connect } from './lib/ws.mjs';
import { fetchRaw, guest, open, useStack, within } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 180_000 };
const SIZE = Number(process.env.WARREN_LARGE ?? 300_000_000);

/** A program of guest/ behind a preview. */
async function serve(t, command, listens) {
	const sandbox = stack.sandbox(t);

	for (const name of ['app.js', 'raw.py'])
		await sandbox.writeFile(`/workspace/${name}`, await guest(name));
	const server = await sandbox.startProcess(command);
	await server.waitForLog(listens, 20_000);
	const { url } = await sandbox.exposePort(8100);
	return { sandbox, url, at: (route) => new URL(route, url) };
}

const app = (t, address = '127.0.0.1') =>
	serve(t, `node app.js 8100 ${address}`, 'app listens');
const raw = (t) => serve(t, 'python3 raw.py 8100', 'raw listens');

/** All that comes back for ${bytes}, as latin-1, until the end. */
function exchange({ host, port }, bytes) {
	return within(20_000, 'the whole answer', new Promise((done, fail) => {
		const socket = net.connect(port, host, () => socket.write(bytes));
		const parts = [];

		socket.on('data', (part) => parts.push(part));
		socket.on('end', () => done(Buffer.concat(parts).toString('latin1')));
		socket.on('error', fail);
	}));
}

const ASK = `
import socket
with socket.create_connection(('127.0.0.1', 8100)) as link, \\
        open('asked', 'rb') as asked, open('told', 'wb') as told:
    link.sendall(asked.read())
    while data := link.recv(65536):
        told.write(data)
`;

/** The same, asked for by a program in the sandbox, without a preview. */
async function exchangeInside(sandbox, bytes) {
	await sandbox.files.put('asked', bytes);
	await sandbox.writeFile('/workspace/ask.py', ASK);
	const { exitCode, stderr } = await sandbox.exec('python3 ask.py');
	assert.equal(exitCode, 0, stderr);
	const told = await (await sandbox.files.get('told')).bytes();

	return Buffer.from(told).toString('latin1');
}

/** Start line, header lines in alphabetic order, and body. */
function partsOf(text) {
	const end = text.indexOf('\r\n\r\n');
	const [start, ...lines] = text.slice(0, end).split('\r\n');

	return { start, lines: lines.sort(), body: text.slice(end + 4) };
}

const bodyOf = (text) => text.slice(text.indexOf('\r\n\r\n') + 4);

test('what a server gets is what was sent, but for what is told of the way',
	limit, async (t) => {
		const { sandbox, url } = await raw(t);
		const { host } = new URL(url);
		const mine = [
			'User-Agent: mine/1', 'Accept: text/html', 'Accept-Encoding: br',
			'Cookie: a=1; b="2"; warren_preview=x', 'X-Two: 1', 'X-Two: 2',
			'Authorization: Basic dXNlcjpwYXNz', 'X-Empty: ',
			'Origin: https://other.example', 'Referer: https://a.example/b',
			'Range: bytes=0-1', 'If-None-Match: "x"', 'X-Caf: \xe9',
			'Content-Type: application/grpc-web+proto', 'Content-Length: 4',
			'Sec-Fetch-Mode: cors', 'X-Long: ' + 'x'.repeat(7000),
		];
		const ask = (name, more = []) => Buffer.from([
			'PUT /a//b/%2F/..;p=1?q=%20&&r HTTP/1.1', `Host: ${name}`,
			...mine, ...more, '', '\0\xff\r\n'].join('\r\n'), 'latin1');
		const direct = partsOf(bodyOf(await exchangeInside(sandbox,
			ask('localhost:8100'))));
		const through = partsOf(bodyOf(await exchange(addressOf(url),
			ask(host, ['Connection: close', 'Forwarded: for=6.6.6.6',
				'X-Forwarded-For: 6.6.6.6', 'X-Forwarded-Proto: x',
				'X-Forwarded-Host: evil.example', 'X-Real-IP: 6.6.6.6',
				'X-Forwarded-Port: 6', 'X-Forwarded-Server: evil',
				'X-Forwarded-Prefix: /evil', 'X-Warren-User: root',
				'X_Warren_User: root']))));
		const added = through.lines.filter((line) =>
			!direct.lines.includes(line));

		assert.equal(through.start, direct.start);
		assert.equal(through.body, direct.body);
		assert.deepEqual(direct.lines.filter((line) =>
			!through.lines.includes(line) && line !== 'X-Empty: '), []);
		assert.deepEqual(added, ['Connection: close',
			'X-Forwarded-For: 127.0.0.1', `X-Forwarded-Host: ${host}`,
			'X-Forwarded-Proto: http', 'X-Real-IP: 127.0.0.1']);
	});

for (const [what, head, body] of [
	['with cookies, CORS, and headers twice', ['HTTP/1.1 299 Odd Reason',
		'Server: mine', 'Date: then', 'Set-Cookie: a=1; Path=/',
		'Set-Cookie: b=2; Secure', 'Vary: A', 'Vary: B',
		'Access-Control-Allow-Origin: https://only.example',
		'Cache-Control: no-transform', 'Location: //x/y?z#f',
		'Content-Length: 5'], 'hello'],
	['without any header', ['HTTP/1.1 200 OK', 'Content-Length: 2'], 'ok'],
	['whose names are ours', ['HTTP/1.1 200 OK', 'X-Accel-Redirect: /v1/x',
		'X-Accel-Expires: 9', 'X-Warren-Port: known',
		'WWW-Authenticate: Basic realm="mine"', 'Content-Length: 2'], 'ok'],
	['that is 502', ['HTTP/1.1 502 Mine', 'Content-Length: 4'], 'mine'],
])
	test(`an answer ${what} comes as it is`, limit, async (t) => {
		const { at, url } = await raw(t);

		await fetchRaw(at('/answer'), { method: 'POST',
			body: `${head.join('\r\n')}\r\n\r\n${body}` });
		const answer = partsOf(await exchange(addressOf(url), Buffer.from(
			`GET /answer HTTP/1.1\r\nHost: ${new URL(url).host}\r\n` +
			'Connection: close\r\n\r\n')));
		assert.equal(answer.start, head[0]);
		/* Those of nginx's control stay here; it has to say who it is. */
		const shown = (lines) => lines.filter((line) =>
			!/^(X-Accel-|Server: nginx$|Date: \w+, )/.test(line)).sort();
		assert.deepEqual(shown(answer.lines),
			shown([...head.slice(1), 'Connection: close']));
		assert.equal(answer.body, body);
	});

test('a server of HTTP/1.0 that tells no length is passed to its end', limit,
	async (t) => {
		const { at } = await raw(t);
		const body = 'z'.repeat(100_000);

		await fetchRaw(at('/answer'), { method: 'POST',
			body: `HTTP/1.0 200 OK\r\nX-Mine: 1\r\n\r\n${body}` });
		const answer = await fetchRaw(at('/answer'));
		assert.equal(answer.headers['x-mine'], '1');
		assert.equal(answer.text, body);
	});

test('methods, preflights and HEAD are the program\'s', limit, async (t) => {
	const { at } = await app(t);

	for (const method of ['OPTIONS', 'PATCH', 'DELETE', 'PROPFIND', 'REPORT']) {
		const { status, headers, text } = await fetchRaw(at('/echo'), {
			method, headers: { Origin: 'https://a.example',
				'Access-Control-Request-Method': 'PUT' } });

		assert.equal(status, 200);
		assert.equal(JSON.parse(text).method, method);
		assert.equal(headers['access-control-allow-origin'], undefined);
	}
	const head = await fetchRaw(at('/stream?n=5'), { method: 'HEAD' });
	assert.deepEqual([head.status, head.headers['content-length'],
		head.text], [200, '5', '']);
	const own = await fetchRaw(at('/bad-gateway'),
		{ headers: { Accept: 'text/html' } });
	assert.deepEqual([own.status, own.text],
		[502, '<h1>my own gateway</h1>']);
});

test('both protocols carry the same Host, on either loopback address', limit,
	async (t) => {
		for (const address of ['127.0.0.1', '::1']) {
			const { at } = await app(t, address);
			const { text } = await fetchRaw(at('/echo'));
			const socket = await connect(at('/host'));

			assert.equal(JSON.parse(text).headers.host,
				'localhost:8100');
			assert.equal(await socket.next(), 'localhost:8100');
			socket.send('x');
			assert.equal(await socket.next(), 'x');
			socket.close();
		}
	});

test('thirty requests are with the program at once', limit, async (t) => {
	const { at } = await app(t);
	const answers = await within(60_000, 'they meet', Promise.all(
		Array.from({ length: 30 }, () => fetchRaw(at('/meet?n=30')))));

	for (const { text } of answers)
		assert.equal(text, '30 met');
});

test('an answer to a POST comes piece by piece, whatever its type', limit,
	async (t) => {
		const { at } = await app(t);
		const response = await within(20_000, 'the head', open(at('/events'),
			{ method: 'POST', body: 'x', headers: {
				'Content-Type': 'application/grpc-web+proto' } }));
		const parts = response[Symbol.asyncIterator]();

		assert.equal((await within(20_000, 'the first part', parts.next()))
			.value.toString(), 'data: first\n\n');
		await fetchRaw(at('/release'));
		assert.equal((await within(20_000, 'the second part', parts.next()))
			.value.toString(), 'data: second\n\n');
	});

test('a body that waits for 100 Continue is asked for, and arrives', limit,
	async (t) => {
		const { at } = await app(t);
		const { host, port, headers } = addressOf(at('/'));
		const request = http.request({ host, port, path: '/digest',
			method: 'PUT', headers: { ...headers, Expect: '100-continue',
				'Transfer-Encoding': 'chunked' } });
		const answered = new Promise((resolve, reject) => {
			request.on('response', resolve);
			request.on('error', reject);
		});

		request.flushHeaders();
		await within(20_000, '100 Continue', new Promise((go) =>
			request.once('continue', go)));
		request.write('ab');
		request.end('c');
		const [text] = await (await answered).toArray();
		assert.equal(text.toString(), '3 ' + createHash('sha256')
			.update('abc').digest('hex'));
	});

/** ${n} bytes in pieces of 1 MiB, and their SHA-256. */
function bytesOf(n) {
	const piece = createHash('shake256', { outputLength: 1 << 20 }).digest();
	const hash = createHash('sha256');

	function* pieces() {
		for (let left = n; left > 0; left -= piece.length) {
			const part = piece.subarray(0, Math.min(left, piece.length));

			hash.update(part);
			yield part;
		}
	}
	return { stream: Readable.from(pieces()), hash };
}

test(`${SIZE} bytes come whole in both directions`, limit, async (t) => {
	const { at } = await app(t);
	const { host, port, headers } = addressOf(at('/'));
	const { stream, hash } = bytesOf(SIZE);
	const answer = await new Promise((resolve, reject) => {
		/* No length: it is sent in chunks. */
		const request = http.request({ host, port, headers, method: 'PUT',
			path: '/digest' }, resolve);

		request.on('error', reject);
		stream.on('error', reject);
		stream.pipe(request);
	});
	const [told] = await answer.toArray();
	const digest = hash.digest('hex');
	assert.equal(told.toString(), `${SIZE} ${digest}`);

	const seen = createHash('sha256');
	for await (const part of await open(at(`/stream?n=${SIZE}`)))
		seen.update(part);
	assert.equal(seen.digest('hex'), digest);
});
