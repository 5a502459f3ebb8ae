/**
 * Real parts together: Chromium, and in a sandbox what people run there: a
 * Vite dev server, socket.io, server-sent events, an application that
 * redirects, xterm.js on a terminal, and the package ws.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { getSandbox } from '../../clients/js/index.js';
import { installPackages } from './lib/npm.mjs';
import { ROOT } from './lib/server.mjs';
import { fetchRaw, guest, uniqueName, until, useStack } from './stack.mjs';

const CHROMIUM = '/usr/bin/chromium-headless-shell';
const DEADLINE_MS = 120_000;
const stack = useStack();
const limit = { timeout: 300_000 };

let directory;
let missing;
let browser;
let sandbox;
let ready;

/** The packages that run inside; the driver stays outside. */
async function packagesTar() {
	const { stdout } = await promisify(execFile)('tar',
		['--exclude=node_modules/playwright-core', '-cf', '-',
			'-C', directory, 'node_modules'],
		{ encoding: 'buffer', maxBuffer: 512 << 20 });

	return stdout;
}

async function setUp() {
	if (!existsSync(CHROMIUM)) {
		missing = `there is no ${CHROMIUM}`;
		return;
	}
	({ directory, missing } = await installPackages(
		fileURLToPath(new URL('browser', import.meta.url))));
	if (missing !== undefined)
		return;
	const { chromium } = createRequire(`${directory}/`)('playwright-core');

	browser = await chromium.launch({
		executablePath: CHROMIUM,
		timeout: DEADLINE_MS,
		args: ['--no-sandbox', '--no-proxy-server'],
	});
	sandbox = getSandbox(uniqueName(),
		{ url: stack.url, apiKey: stack.apiKey });
	await sandbox.files.unpack('/workspace', await packagesTar());
	for (const name of ['socketio', 'events', 'login', 'echo'])
		await sandbox.writeFile(`/workspace/${name}.js`,
			await guest(`web/${name}.js`));
}

after(async () => {
	await browser?.close();
	await sandbox?.destroy();
	if (directory !== undefined)
		await rm(directory, { recursive: true, force: true });
}, limit);

/** A case that needs all of it. */
const needs = (body) => async (t) => {
	ready ??= setUp();
	await ready;
	if (missing !== undefined)
		t.skip(`browser or packages are missing: ${missing}`);
	else
		await body(t);
};

/** A page with no cookies and no history. */
async function newPage(t) {
	const context = await browser.newContext();

	context.setDefaultTimeout(DEADLINE_MS);
	t.after(() => context.close());
	return context.newPage();
}

/** A program of guest/web behind a preview; ended after ${t}. */
async function serve(t, name, port, settings = {}) {
	const server = await sandbox.startProcess(`node ${name}.js ${port}`);

	t.after(() => server.kill());
	await server.waitForLog(`${name} listens`, DEADLINE_MS);
	return { server, ...await sandbox.exposePort(port, settings) };
}

test('Vite replaces a module in a page that stays', limit, needs(async (t) => {
	const page = await newPage(t);
	let loads = 0;

	await sandbox.writeFile('/workspace/site/index.html',
		'<title>site</title><p id=text></p>' +
		'<script type=module src=/main.js></script>');
	await sandbox.writeFile('/workspace/site/main.js', `
		import { text } from './message.js';
		const show = (what) => {
			document.getElementById('text').textContent = what;
		};
		show(text);
		import.meta.hot.accept('./message.js', (m) => show(m.text));`);
	await sandbox.writeFile('/workspace/site/message.js',
		'export const text = "one";');
	/* As it comes: no configuration, no allowed hosts. */
	const vite = await sandbox.startProcess(
		'node node_modules/vite/bin/vite.js site --port 5173 --strictPort');
	t.after(() => vite.kill());
	await vite.waitForLog('ready in', DEADLINE_MS);
	const { url } = await sandbox.exposePort(5173);

	page.on('load', () => loads++);
	const connected = page.waitForEvent('console',
		(message) => message.text().includes('[vite] connected'));
	await page.goto(url);
	await page.getByText('one').waitFor();
	await connected;
	await page.evaluate(() => { window.mark = 'kept'; });
	await sandbox.writeFile('/workspace/site/message.js',
		'export const text = "two";');
	await page.getByText('two').waitFor();
	assert.equal(await page.evaluate(() => window.mark), 'kept');
	assert.equal(loads, 1);
}));

test('socket.io begins by polling and goes on by WebSocket', limit, needs(async (t) => {
	const page = await newPage(t);
	const asked = [];
	const { url } = await serve(t, 'socketio', 8300);

	page.on('request', (request) => asked.push(request.url()));
	await page.goto(url);
	await page.waitForFunction(
		'socket.connected && socket.io.engine.transport.name === "websocket"');
	assert.ok(asked.some((at) => at.includes('transport=polling')));
	assert.equal(await page.evaluate('say("hello")'),
		'by websocket: hello');
	/* A text that no single frame of a proxy holds. */
	assert.equal(await page.evaluate(
		'say("x".repeat(900_000)).then((text) => text.length)'),
	'by websocket: '.length + 900_000);
	const id = await page.evaluate('socket.id');
	await page.evaluate('socket.io.engine.close()');
	await page.waitForFunction((old) => socket.connected &&
		socket.id !== old, id);
}));

test('an event page gets each event at once, and takes up a stream',
	limit, needs(async (t) => {
		const page = await newPage(t);
		const { url } = await serve(t, 'events', 8301);
		const shows = (...all) => page.waitForFunction(
			(wanted) => seen.join() === wanted, all.join());

		await page.goto(url);
		await shows('after undefined');
		await page.evaluate('fetch("/next").then(() => {})');
		await shows('after undefined', 'next');
		await page.evaluate('fetch("/drop").then(() => {})');
		await shows('after undefined', 'next', 'after 2');
	}));

test('redirects, forms and cookies are those of the application',
	limit, needs(async (t) => {
		const page = await newPage(t);
		const { url } = await serve(t, 'login', 8302);

		await page.goto(url);
		assert.equal(page.url(), `${url}login?from=%2F`);
		await page.locator('input').fill('ann');
		await page.locator('button').click();
		await page.getByText('hello ann').waitFor();
		assert.equal(page.url(), `${url}home`);
		const cookies = await page.context().cookies();
		assert.deepEqual(cookies.map(({ name, domain, httpOnly }) =>
			[name, domain, httpOnly]).sort(), [
			['name', new URL(url).hostname, true],
			['theme', new URL(url).hostname, false],
		]);
	}));

test('a page that was opened too early shows the application by itself',
	limit, needs(async (t) => {
		const page = await newPage(t);
		const { url } = await sandbox.exposePort(8303);

		await page.goto(url);
		await page.getByText('Nothing listens on port 8303 yet').waitFor();
		await serve(t, 'login', 8303);
		await page.locator('input').waitFor();
		assert.equal(page.url(), `${url}login?from=%2F`);
	}));

test('a link opens a private preview in one browser, and hides itself',
	limit, needs(async (t) => {
		const [page, other] = [await newPage(t), await newPage(t)];
		const { url } = await serve(t, 'socketio', 8304,
			{ access: 'private' });
		const link = await sandbox.linkPort(8304,
			{ once: true, user: 'ann' });

		await page.goto(link.url);
		assert.equal(page.url(), url);
		/* Its WebSocket is let in by the same cookie. */
		await page.waitForFunction('socket.connected && ' +
			'socket.io.engine.transport.name === "websocket"');
		assert.equal(await page.evaluate('document.cookie'), '');
		const [cookie, ...more] = await page.context().cookies();
		assert.equal(more.length, 0);
		assert.deepEqual([cookie.domain, cookie.httpOnly],
			[new URL(url).hostname, true]);
		for (const at of [url, link.url]) {
			const answer = await other.goto(at);

			assert.equal(answer.status(), 401);
			await other.getByText('private').waitFor();
		}
	}));

/** The page with a terminal, and what it loads, from this process. */
async function servePage(t) {
	const roots = [
		['/xterm/', path.join(directory, 'node_modules/@xterm/xterm')],
		['/client/', path.join(ROOT, 'clients/js')],
	];
	const types = { '.js': 'text/javascript', '.css': 'text/css' };
	const page = await guest('web/terminal.html');
	const server = http.createServer(async (request, response) => {
		const [start, root] = roots.find(([prefix]) =>
			request.url.startsWith(prefix)) ?? [];

		response.setHeader('Content-Type', start === undefined
			? 'text/html' : types[path.extname(request.url)]);
		response.end(start === undefined ? page : await readFile(
			path.join(root, request.url.slice(start.length))));
	});

	await new Promise((up) => server.listen(0, '127.0.0.1', up));
	t.after(() => {
		server.closeAllConnections();
		server.close();
	});
	return `http://127.0.0.1:${server.address().port}/`;
}

test('xterm.js on a terminal: keys, colours, Ctrl-C, and a reload',
	limit, needs(async (t) => {
		const page = await newPage(t);
		const { keyboard } = page;
		const has = (line) => page.waitForFunction(
			(text) => linesOf().includes(text), line);
		const drawn = () => page.waitForFunction(
			() => document.title === 'ready');

		await page.goto(`${await servePage(t)}#${encodeURIComponent(
			JSON.stringify({ name: sandbox.name, url: stack.url,
				apiKey: stack.apiKey }))}`);
		await drawn();
		await page.locator('.xterm-helper-textarea').focus();
		await keyboard.type('echo is $((40+2)) $(stty size)\n');
		await has('is 42 24 80');
		await keyboard.insertText('echo ž€; printf "a\\tb\\n"');
		await keyboard.press('Enter');
		await has('ž€');
		await has('a       b');

		await keyboard.type('printf "\\e[31mred\\e[0m ' +
			'\\e[38;2;1;2;3mtrue\\e[0m \\e[1;92mhi\\e[0m\\n"\n');
		await has('red true hi');
		assert.deepEqual(await page.evaluate('coloursOf("red true hi")'), [
			...Array(3).fill('palette 1'), 'default',
			...Array(4).fill(`rgb ${0x010203}`), 'default',
			...Array(2).fill('palette 10')]);

		await keyboard.type('sleep 1000\n');
		await until(DEADLINE_MS, 'sleep runs', async () =>
			(await sandbox.exec('pgrep -x sleep')).exitCode === 0);
		await keyboard.press('Control+c');
		/* What is typed before the shell is back may be thrown away. */
		await until(DEADLINE_MS, 'the shell takes commands', async () => {
			await keyboard.type('echo code="$?"\n');
			return (await page.evaluate('linesOf()'))
				.includes('code=130');
		});

		await page.reload();
		await drawn();
		await has('is 42 24 80');
		await has('red true hi');
		assert.equal((await page.evaluate('coloursOf("red true hi")'))[0],
			'palette 1');
		await page.locator('.xterm-helper-textarea').focus();
		await keyboard.type('echo goes "on"\n');
		await has('goes on');
	}));

test('the package ws: large messages, sub-protocols, pings, close codes',
	limit, needs(async (t) => {
		const WebSocket = createRequire(`${directory}/`)('ws');
		const { server, url } = await serve(t, 'echo', 8305);
		/* Node does not look up names below localhost. */
		const lookup = (name, { all }, told) => (all
			? told(null, [{ address: '127.0.0.1', family: 4 }])
			: told(null, '127.0.0.1', 4));
		const socket = new WebSocket(url, ['first', 'second'],
			{ lookup, maxPayload: 16 << 20 });
		const next = (event) => new Promise((resolve, reject) => {
			socket.once('error', reject);
			socket.once(event, (...all) => {
				socket.removeListener('error', reject);
				resolve(all);
			});
		});

		await next('open');
		assert.equal(socket.protocol, 'second');
		assert.match(socket.extensions, /permessage-deflate/);
		for (const [size, compress] of [[2 << 20, false], [2 << 20, true],
			[9 << 20, false]]) {
			const bytes = Buffer.alloc(size, `${size} `);
			const told = next('message');

			socket.send(bytes, { compress });
			const [data, isBinary] = await told;
			assert.ok(isBinary && data.equals(bytes), `${size} bytes`);
		}
		/* One message of many frames. */
		const whole = next('message');
		for (let i = 0; i < 100; i++)
			socket.send(`${i},`, { fin: i === 99, binary: false });
		assert.equal((await whole)[0].toString(),
			Array.from({ length: 100 }, (_, i) => `${i},`).join(''));
		const pong = next('pong');
		const seen = next('message');
		socket.ping('abc');
		assert.equal((await pong)[0].toString(), 'abc');
		assert.equal((await seen)[0].toString(), 'pinged abc');
		const closed = next('close');
		socket.close(4321, 'enough');
		assert.equal((await closed)[0], 4321);
		await server.waitForLog('closed 4321 enough', DEADLINE_MS);
		assert.equal((await fetchRaw(url)).status, 426);
	}));
