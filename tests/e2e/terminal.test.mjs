/**
 * Terminals: a shell behind a WebSocket that stays when its viewers go.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { findPrograms } from './lib/hostproc.mjs';
import { connect } from './lib/ws.mjs';
import { until, useStack } from './stack.mjs';

const stack = useStack();
const limit = { timeout: 90_000 };
const TAIL = 512 << 10; /* more than is replayed */

const plain = (text) => text.replace(/\x1b\[\?2004[hl]\r?/g, '');

/** One viewer: what it saw so far, and ways to wait for more. */
class Viewer {
	texts = [];
	#parts = [];
	#late = ''; /* the end of them, as text */
	#socket;
	#news = [];

	constructor(socket) {
		this.#socket = socket;
		this.done = this.#read();
	}

	async #read() {
		for (;;) {
			const message = await this.#socket.next();
			if (message === undefined)
				break;
			if (Buffer.isBuffer(message))
				this.#take(message);
			else
				this.texts.push(JSON.parse(message));
			this.#news.splice(0).forEach((wake) => wake());
		}
		this.gone = true;
		this.#news.splice(0).forEach((wake) => wake());
	}

	#take(message) {
		this.#parts.push(message);
		this.#late = (this.#late + message.toString('latin1')).slice(-TAIL);
	}

	get bytes() {
		this.#parts = [Buffer.concat(this.#parts)];
		return this.#parts[0];
	}

	/** Without what bash tells a terminal about pastes. */
	get text() {
		return plain(this.bytes.toString('latin1'));
	}

	get closed() {
		return this.#socket.closed;
	}

	async #until(what, found) {
		while (!found()) {
			assert.ok(!this.gone, `closed before ${what}: ${
				JSON.stringify([this.text.slice(-300), this.texts])}`);
			await new Promise((wake) => this.#news.push(wake));
		}
	}

	sees(part) {
		return this.#until(part, () => plain(this.#late).includes(part));
	}

	says(type) {
		const find = () => this.texts.find((m) => m.type === type);

		return this.#until(type, find).then(find);
	}

	type(keys) {
		this.#socket.sendBinary(keys);
	}

	control(message) {
		this.#socket.send(typeof message === 'string'
			? message : JSON.stringify(message));
	}

	/** What ${command} printed, by a mark that is not in what is typed. */
	async run(command) {
		const n = Math.random().toString(36).slice(2);
		const at = this.bytes.length;

		this.type(`${command}; echo "do""ne-${n}"\n`);
		await this.sees(`done-${n}`);
		return plain(this.bytes.subarray(at).toString());
	}

	async leave() {
		this.#socket.close();
		await this.done;
	}

	get socket() {
		return this.#socket;
	}
}

const keyed = (key = stack.apiKey) => ({ Authorization: `Bearer ${key}` });

async function pathOf(sandbox) {
	return `/v1/sandboxes/${(await sandbox.getInfo()).name}`;
}

async function open(base, query = '', route = '/api/terminal') {
	const viewer = new Viewer(await connect(
		`${stack.url}${base}${route}${query}`, keyed()));

	await viewer.says('ready');
	return viewer;
}

/** A new sandbox and the start of its routes. */
async function place(t) {
	const sandbox = stack.sandbox(t);

	await sandbox.exec('true');
	return { sandbox, base: await pathOf(sandbox) };
}

test('a shell on a terminal of the asked size, with job control', limit,
	async (t) => {
		const { base } = await place(t);
		const v = await open(base, '?cols=100&rows=30');

		assert.match(await v.run('stty size'), /\n30 100\r/);
		assert.match(await v.run('tty'), /\n\/dev\/pts\/\d+\r/);
		assert.match(await v.run('echo $TERM-$COLORTERM'),
			/\nxterm-256color-truecolor\r/);
		assert.match(await v.run('pwd'), /\n\/workspace\r/);
		assert.match(await v.run('sleep 100 & jobs; kill %1; wait'),
			/Running +sleep 100/);
		assert.ok(!v.text.includes('no job control'));
		v.type('sleep 1000\n');
		await v.sees('sleep 1000\r\n');
		await until(20_000, 'sleep runs', async () => (await stack.call('POST',
			`${base}/api/execute`, { command: 'pgrep -x sleep' })).json
			.exitCode === 0);
		/* What is typed before the shell is back may be thrown away. */
		v.type('\x03');
		await v.sees('^C');
		await until(20_000, 'the shell takes commands again', () => {
			v.type('echo code="$?"\n');
			return v.text.includes('\ncode=130');
		});
	});

test('a new size is told to the program', limit, async (t) => {
	const { base } = await place(t);
	const v = await open(base);

	assert.match(await v.run('stty size'), /\n24 80\r/);
	/* Not the shell itself: jobs of it are in groups of their own. */
	v.type(`bash -c 'trap "echo chan""ged; exit" WINCH; echo re"ady"; ` +
		`while :; do sleep 0.05; done'\n`);
	await v.sees('ready');
	v.control({ type: 'resize', cols: 120, rows: 40 });
	await v.sees('changed');
	assert.match(await v.run('stty size'), /\n40 120\r/);
});

test('viewers share a terminal, which stays when they go', limit,
	async (t) => {
		const { sandbox, base } = await place(t);
		const first = await open(base, '?id=main');

		await first.run('kept=yes');
		const second = await open(base, '?id=main&cols=90&rows=20');
		assert.ok(second.text.includes('kept=yes'), 'is replayed');
		second.type('echo both-"see"-this\n');
		await first.sees('both-see-this');
		await second.sees('both-see-this');
		await first.leave();
		await second.leave();
		const [row] = await sandbox.listProcesses();
		assert.equal(row.id, 'main');
		assert.equal(row.status, 'running');
		const third = await open(base, '?id=main');
		assert.match(await third.run('echo $kept; stty size'),
			/\nyes\r\n20 90\r/);
		assert.ok(third.text.indexOf('both-see-this') >= 0);
	});

test('the last 256 KiB are replayed, before ready', limit, async (t) => {
	const { base } = await place(t);
	const first = await open(base);

	await first.run('seq -w 1 100000');
	await first.leave();
	const second = await open(base);
	const replay = second.text;
	assert.ok(replay.length <= 256 * 1024 && replay.length > 200 * 1024,
		`${replay.length} bytes`);
	assert.ok(replay.includes('100000\r\n'));
	assert.ok(!replay.includes('000001\r\n'));
});

test('an end is told with its code, and the next call begins anew', limit,
	async (t) => {
		const { sandbox, base } = await place(t);
		const v = await open(base, '?id=a');

		v.type('exit 7\n');
		const exit = await v.says('exit');
		await v.done;
		assert.deepEqual([exit.code, exit.reason], [7, 'exited']);
		assert.equal(v.closed, 1000);
		const again = await open(base, '?id=a');
		assert.match(await again.run('echo new'), /\nnew\r/);
		const killed = again.says('exit');
		await sandbox.killProcess('a');
		assert.equal((await killed).reason, 'killed');
		const other = await open(base, '?id=b');
		const signalled = other.says('exit');
		other.type('kill -9 $$\n');
		assert.deepEqual((({ code, reason }) => [code, reason])(
			await signalled), [137, 'signalled']);
	});

test('each session has a terminal of its own, in its directory', limit,
	async (t) => {
		const { sandbox, base } = await place(t);
		const session = await sandbox.createSession({ id: 's1' });

		await session.exec('mkdir -p /tmp/here && cd /tmp/here');
		const own = await open(base, '?sessionId=s1&cols=80&rows=24',
			'/ws/pty');
		const plain = await open(base, '', '/ws/pty');
		assert.match(await own.run('pwd'), /\n\/tmp\/here\r/);
		assert.match(await plain.run('pwd'), /\n\/workspace\r/);
		await own.run('mine=1');
		assert.match(await plain.run('echo [$mine]'), /\n\[\]\r/);
	});

test('shell, user, cwd and env can be chosen', limit, async (t) => {
	const { base } = await place(t);
	const made = await stack.call('POST', `${base}/api/terminal`, {
		id: 'x', shell: '/bin/sh', user: 'sandbox', cwd: '/tmp',
		env: { MINE: 'a b', TERM: 'vt100' }, cols: 50, rows: 10,
	});

	assert.equal(made.status, 201);
	assert.deepEqual([made.json.id, made.json.created], ['x', true]);
	const v = await open(base, '?id=x');
	assert.match(await v.run('id -un; pwd; echo "$MINE" $TERM; stty size'),
		/sandbox\r\n\/tmp\r\na b vt100\r\n10 50\r/);
	const same = await stack.call('POST', `${base}/api/terminal`,
		{ id: 'x' });
	assert.deepEqual([same.status, same.json.created, same.json.pid],
		[200, false, made.json.pid]);
	const none = await open(base, '?id=y&shell=/no/such');
	assert.equal((await none.says('exit')).code, 127);
	assert.match(none.text, /\/no\/such: No such file/);
});

test('what is typed by stdin of the process arrives', limit, async (t) => {
	const { base } = await place(t);
	const v = await open(base, '?id=typed');
	const sent = await stack.call('POST', `${base}/api/process/typed/stdin`,
		{ data: 'echo by-"route"\n' });

	assert.equal(sent.status, 200);
	await v.sees('by-route');
	const taken = await stack.call('POST', `${base}/api/process/start`,
		{ command: 'sleep 100', processId: 'plain' });
	assert.equal(taken.status, 200);
	await assert.rejects(open(base, '?id=plain'), { status: 409 });
});

test('bytes pass as they are, also a character in two pieces', limit,
	async (t) => {
		const { base } = await place(t);
		const v = await open(base);
		const out = await v.run(
			"stty -opost; printf '\\xe2'; sleep 0.1; " +
			"printf '\\x82\\xac \\xff\\x00'; stty opost");

		assert.ok(out.includes('€'));
		assert.ok(v.text.includes(' \xff\x00'));
		v.type('echo re"ady"; read -r x; echo got:$x\n');
		await v.sees('ready\r\n');
		v.type(Buffer.from([0xe2, 0x82]));
		v.type(Buffer.from([0xac, 0x0a]));
		await v.sees(Buffer.from('got:€').toString('latin1'));
	});

test('a burst arrives whole, and holds up nobody else', limit, async (t) => {
	const { base } = await place(t);
	const burst = await open(base, '?id=burst');
	const other = await open(base, '?id=other');

	burst.socket.pause(); /* does not read, so that it cannot be over */
	burst.type('stty -onlcr; head -c 10000000 /dev/zero | tr "\\0" x; ' +
		'echo "en""d"\n');
	for (let i = 0; i < 20; i++)
		await other.run(`echo turn ${i}`);
	burst.socket.resume();
	await burst.sees('end\n');
	const xs = burst.bytes.filter((b) => b === 0x78).length;
	const dropped = burst.texts.some((m) => m.type === 'dropped');
	assert.ok(dropped || xs >= 10_000_000, `${xs} of 10000000`);
});

test('Ctrl-C stops a flood that nobody reads', limit, async (t) => {
	const { base } = await place(t);
	const v = await open(base);

	v.type('yes flood\n');
	await v.sees('flood\r\nflood');
	v.socket.pause();
	v.type('\x03');
	v.socket.resume();
	await v.sees('^C');
	await until(20_000, 'the shell takes commands again', () => {
		v.type('echo stop"ped"\n');
		return v.text.includes('stopped\r\n');
	});
});

test('who may not open one is told so', limit, async (t) => {
	const { base } = await place(t);
	const url = `${stack.url}${base}/api/terminal`;
	const plain = await stack.call('GET', `${base}/api/terminal`);

	assert.deepEqual([plain.status, plain.json.code],
		[426, 'UPGRADE_REQUIRED']);
	await assert.rejects(connect(url), { status: 401 });
	await assert.rejects(connect(url, keyed('wrn_aaaaaaaa_' +
		'a'.repeat(43))), { status: 401 });
	for (const query of ['?cols=0', '?rows=1001', '?cols=x', '?user=me',
		'?id=..', '?cwd=/not/there', '?idleTimeoutMs=-1'])
		await assert.rejects(connect(url + query, keyed()),
			{ status: 400 }, query);
	const { id } = (await stack.call('GET', base)).json;
	if (stack.noOperator)
		return;
	const foreign = await stack.newTenant();
	await assert.rejects(connect(
		`${stack.url}/v1/sandboxes/${id}/api/terminal`,
		keyed(foreign)), { status: 404 });
});

test('a ticket opens one terminal, once', limit, async (t) => {
	const { base } = await place(t);
	const ticket = async (body) => (await stack.call('POST',
		`${base}/api/terminal/ticket`, body)).json;
	const one = await ticket({ id: 'ticketed' });

	assert.match(one.url, /^ws:\/\/.*\/v1\/terminals\/[\w-]{48}$/);
	const v = new Viewer(await connect(`${one.url}?cols=70&rows=20`));
	assert.match(await v.run('stty size'), /\n20 70\r/);
	const [row] = (await stack.call('GET', `${base}/api/process/list`)).json
		.processes;
	assert.equal(row.id, 'ticketed');
	await assert.rejects(connect(one.url), { status: 404 });

	const short = await ticket({ ttl: '1s' });
	await until(20_000, 'it expires', async () => Date.now() >
		Date.parse(short.expiresAt));
	await assert.rejects(connect(short.url), { status: 404 });

	const revoked = await ticket({});
	const { links } = (await stack.call('GET', `${base}/api/links`)).json;
	const { id } = links.find((l) => l.path === 'terminal');
	await stack.call('DELETE', `${base}/api/links/${id}`);
	await assert.rejects(connect(revoked.url), { status: 404 });
	const file = (await stack.call('POST', `${base}/api/links`,
		{ path: 'terminal' })).json;
	await assert.rejects(connect(file.url.replace('http:', 'ws:')
		.replace('/links/', '/terminals/')), { status: 404 });
	const wrong = await ticket({});
	const read = await stack.call('GET', new URL(wrong.url).pathname
		.replace('/terminals/', '/links/'));
	assert.equal(read.status, 404);
});

test('a ticket is not logged', { ...limit }, async (t) => {
	if (stack.noOperator) {
		t.skip(stack.noOperator);
		return;
	}
	const { base } = await place(t);
	const { ticket, url } = (await stack.call('POST',
		`${base}/api/terminal/ticket`, {})).json;
	const v = new Viewer(await connect(url));

	await v.says('ready');
	await v.leave();
	const log = () => readFile(`${stack.data}/nginx/access.log`, 'utf8');
	await until(20_000, 'the call is logged', async () =>
		(await log()).includes('/v1/terminals/'));
	assert.ok(!(await log()).includes(ticket));
});

test('what is no message is answered, what is no frame ends the viewer',
	limit, async (t) => {
		const { base } = await place(t);
		const v = await open(base, '?id=solid');

		for (const text of ['{', '[]', '{"type":"resize"}', '{"type":1}',
			'{"type":"resize","cols":0,"rows":5}', '',
			'{"type":"resize","cols":5,"rows":5,"x":1}',
			'"resize"', 'x'.repeat(5000)])
			v.control(text);
		for (let n = 0; n < 9;) {
			await v.says('error');
			n += v.texts.filter((m) => m.type === 'error').length;
			v.texts.length = 0;
		}
		assert.match(await v.run('echo alive'), /\nalive\r/);
		v.type(Buffer.alloc((1 << 20) + 1));
		await v.done;
		assert.equal(v.closed, 1009);
		for (const junk of [[0x81, 0x01, 0x41], [0xf2, 0x80, 0, 0, 0, 0],
			[0x83, 0x80, 0, 0, 0, 0],
			[0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]]) {
			const w = await open(base, '?id=solid');
			w.socket.sendRaw(Buffer.from(junk));
			await w.done;
		}
		const last = await open(base, '?id=solid');
		assert.match(await last.run('echo still'), /\nstill\r/);
	});

test('sixty-four look at a sandbox at a time', limit, async (t) => {
	const { base } = await place(t);
	const viewers = [];

	for (let i = 0; i < 64; i++)
		viewers.push(await open(base, '?id=crowd'));
	await assert.rejects(open(base, '?id=crowd'), { status: 503 });
	viewers[0].type('echo to"all"\n');
	for (const v of viewers)
		await v.sees('toall');
	await viewers[0].leave();
	await until(20_000, 'there is room again', async () => {
		try {
			await (await open(base, '?id=crowd')).leave();
			return true;
		} catch {
			return false;
		}
	});
	for (const v of viewers.slice(1))
		v.socket.destroy();
});

test('one that nobody types into ends after idleTimeoutMs', limit,
	async (t) => {
		const { base } = await place(t);
		const v = await open(base, '?id=idle&idleTimeoutMs=300');
		const exit = await v.says('exit');

		assert.ok(['signalled', 'exited'].includes(exit.reason));
		await v.done;
	});

test('terminals outlive the program that shows them', limit, async (t) => {
	if (stack.noOperator) {
		t.skip(stack.noOperator);
		return;
	}
	const { base } = await place(t);
	const v = await open(base, '?id=long');

	await v.run('mine=still-here');
	const server = () => findPrograms('warren-terminal',
		(words) => words.includes(stack.data));
	process.kill(server()[0], 'SIGKILL');
	await v.done;
	let again;
	await until(20_000, 'it is back', async () => {
		try {
			again = await open(base, '?id=long');
			return true;
		} catch {
			return false;
		}
	});
	assert.match(await again.run('echo $mine'), /\nstill-here\r/);
	process.kill(server()[0], 'SIGTERM');
	await again.done;
	assert.equal(again.closed, 1012);
	await until(20_000, 'it is back once more', async () => {
		try {
			await (await open(base, '?id=long')).leave();
			return true;
		} catch {
			return false;
		}
	});
});

test('a sandbox that is deleted ends its terminals', limit, async (t) => {
	const { sandbox, base } = await place(t);
	const v = await open(base);
	const exit = v.says('exit');

	await sandbox.destroy();
	assert.equal((await exit).reason, 'sandbox_gone');
	await v.done;
});

/** As browsers have it, over the client of these tests. */
class PageSocket extends EventTarget {
	#socket;

	constructor(url) {
		super();
		connect(url).then((socket) => {
			this.#socket = socket;
			this.dispatchEvent(new Event('open'));
			this.#read();
		}, () => this.#closed(1006));
	}

	async #read() {
		for (;;) {
			const data = await this.#socket.next();
			if (data === undefined)
				break;
			this.dispatchEvent(Object.assign(new Event('message'), {
				data: typeof data === 'string'
					? data : new Uint8Array(data).buffer }));
		}
		this.#closed(this.#socket.closed ?? 1006);
	}

	#closed(code) {
		this.dispatchEvent(Object.assign(new Event('close'), { code }));
	}

	send(data) {
		if (typeof data === 'string')
			this.#socket.send(data);
		else
			this.#socket.sendBinary(data);
	}

	close() {
		this.#socket.close();
	}
}

test('the client shows a terminal, types, resizes, and tells its end', limit,
	async (t) => {
		const sandbox = stack.sandbox(t);
		const shown = async (terminal, part) => {
			let text = '';

			await new Promise((resolve) => terminal.addEventListener(
				'data', ({ detail }) => {
					text += Buffer.from(detail).toString();
					if (text.includes(part))
						resolve();
				}));
		};
		const terminal = await sandbox.openTerminal({ id: 'main', cols: 90,
			rows: 20, WebSocket: PageSocket });
		const first = shown(terminal, '20 90');

		assert.equal(terminal.id, 'main');
		terminal.write('stty size\n');
		await first;
		const second = shown(terminal, '30 100');
		terminal.resize(100, 30);
		terminal.write('stty size\n');
		await second;
		const closed = new Promise((resolve) =>
			terminal.addEventListener('close', resolve));
		terminal.close();
		await closed;
		assert.equal((await sandbox.createTerminal({ id: 'main' })).created,
			false);
		const again = await sandbox.openTerminal({ id: 'main',
			WebSocket: PageSocket });
		const exit = new Promise((resolve) => again.addEventListener('exit',
			({ detail }) => resolve(detail)));
		again.write('exit 4\n');
		assert.equal((await exit).code, 4);
		await assert.rejects(sandbox.openTerminal({ cwd: '/not/there',
			id: 'other', WebSocket: PageSocket }),
		{ code: 'SERVICE_UNAVAILABLE' });
	});
