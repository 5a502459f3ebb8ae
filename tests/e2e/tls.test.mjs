/**
 * The site for a real domain, as nginx/site.conf.example has it, beside the
 * stack: an nginx of its own with TLS in front of the same workers.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';

import { freePort, ROOT } from './lib/server.mjs';
import { connect } from './lib/ws.mjs';
import { guest, until, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 60_000 };
const run = promisify(execFile);
const agent = new https.Agent({ rejectUnauthorized: false });
const modules = '/usr/lib/nginx/modules';

let directory;
let nginx;
let port;
let site;

/** The example, with the stack's directory, this port, and a certificate. */
async function siteConf() {
	const names = { '/var/lib/warren': stack.data,
		'/etc/ssl/warren': directory,
		'warren.example.com': 'localhost' };
	let text = await readFile(path.join(ROOT, 'nginx/site.conf.example'),
		'utf8');

	for (const [from, to] of Object.entries(names))
		text = text.replaceAll(from, to);
	text = text.replace(/listen \[::\]:.*\n/g, '')
		.replace(/listen (80|443)/g, (_, n) =>
			`listen 127.0.0.1:${n === '443' ? port : port + 1}`);
	return `load_module ${modules}/ndk_http_module.so;
		load_module ${modules}/ngx_http_lua_module.so;
		user www-data; daemon off; pid ${directory}/pid;
		events {} http { ${text} }`;
}

async function startSite() {
	directory = await mkdtemp(path.join(os.tmpdir(), 'warren-tls-'));
	port = await freePort();
	await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes',
		'-subj', '/CN=localhost', '-days', '1',
		'-keyout', `${directory}/privkey.pem`,
		'-out', `${directory}/fullchain.pem`]);
	await writeFile(`${directory}/nginx.conf`, await siteConf());
	nginx = spawn('nginx', ['-p', directory, '-e', `${directory}/error.log`,
		'-c', `${directory}/nginx.conf`], { stdio: 'inherit' });
	await until(20_000, 'the site is up', () => fetchTls(
		`https://localhost:${port}/v1/health`).catch(() => false));
}

/** A case that needs the site. */
const needs = (body) => async (t) => {
	if (stack.noOperator) {
		t.skip(stack.noOperator);
		return;
	}
	site ??= startSite();
	await site;
	await body(t);
};

after(async () => {
	if (nginx !== undefined) {
		const gone = new Promise((done) => nginx.once('exit', done));

		nginx.kill('SIGTERM');
		await gone;
	}
	if (directory !== undefined)
		await rm(directory, { recursive: true, force: true });
}, limit);

/** As fetchRaw(), by TLS. */
function fetchTls(url, { method = 'GET', headers, body } = {}) {
	const { pathname, search, host, hostname } = new URL(url);

	return new Promise((resolve, reject) => {
		const request = https.request({ host: '127.0.0.1', port, agent,
			servername: hostname, method, path: pathname + search,
			headers: { Host: host, ...headers } }, async (response) => {
			let text = '';

			for await (const part of response)
				text += part;
			resolve({ status: response.statusCode, text,
				headers: response.headers });
		});
		request.on('error', reject);
		request.end(body);
	});
}

async function call(method, route, body) {
	const { status, text } = await fetchTls(
		`https://localhost:${port}${route}`, { method,
			headers: { Authorization: `Bearer ${stack.apiKey}`,
				'Content-Type': 'application/json' },
			body: JSON.stringify(body) });

	return { status, json: text === '' ? undefined : JSON.parse(text) };
}

test('what is reached by TLS answers URLs that are', limit, needs(async (t) => {
	const sandbox = stack.sandbox(t);
	const base = `/v1/sandboxes/${sandbox.name}/api`;

	await sandbox.writeFile('/workspace/app.js', await guest('app.js'));
	const app = await sandbox.startProcess('node app.js 8100');
	await app.waitForLog('app listens', 20_000);
	const made = await call('POST', `${base}/ports`,
		{ port: 8100, access: 'private' });
	const url = new URL('/echo', made.json.url);
	assert.equal(made.status, 200);
	assert.equal(url.protocol, 'https:');
	assert.equal(url.port, String(port));
	/* The same port, asked for by the plain way. */
	assert.equal((await sandbox.getExposedPorts())[0].url,
		made.json.url.replace(/^https/, 'http')
			.replace(`:${port}/`, `:${new URL(stack.url).port}/`));

	assert.equal((await fetchTls(url)).status, 401);
	const link = (await call('POST', `${base}/ports/8100/links`,
		{})).json.url;
	const entered = await fetchTls(link, { headers: {
		Accept: 'text/html' } });
	assert.equal(entered.status, 303);
	assert.equal(entered.headers.location, made.json.url);
	const [cookie] = entered.headers['set-cookie'];
	assert.match(cookie, /^__Host-warren_preview=[\w-]+; Path=\/; /);
	assert.match(cookie, /; Secure$/);
	const [pair] = cookie.split(';');
	const seen = JSON.parse((await fetchTls(url,
		{ headers: { Cookie: `a=1; ${pair}` } })).text);
	assert.equal(seen.headers['x-forwarded-proto'], 'https');
	assert.equal(seen.headers['x-forwarded-host'], url.host);
	assert.equal(seen.headers.cookie, 'a=1');
	/* What a sibling could set for the whole domain is none of ours. */
	assert.equal((await fetchTls(url, { headers: {
		Cookie: pair.replace('__Host-', '') } })).status, 401);

	const ticket = (await call('POST', `${base}/terminal/ticket`, {})).json;
	assert.match(ticket.url, new RegExp(`^wss://localhost:${port}/`));
	const file = (await call('POST', `${base}/links`,
		{ path: 'app.js' })).json;
	assert.match(file.url, new RegExp(`^https://localhost:${port}/`));
	assert.equal((await fetchTls(file.url)).text, await guest('app.js'));
}));

test('a WebSocket by TLS reaches the application', limit, needs(async (t) => {
	const sandbox = stack.sandbox(t);

	await sandbox.writeFile('/workspace/app.js', await guest('app.js'));
	const app = await sandbox.startProcess('node app.js 8100');
	await app.waitForLog('app listens', 20_000);
	const { json } = await call('POST', `/v1/sandboxes/${
		sandbox.name}/api/ports`, { port: 8100 });
	const socket = await connect(json.url, {}, { agent });

	socket.send('hello');
	assert.equal(await socket.next(), 'hello');
	socket.close();
}));
