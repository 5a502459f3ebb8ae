// A kernel program on the end of a socket: what a keeper does, in little.
import { spawn, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const KERNELS = path.resolve(path.dirname(fileURLToPath(import.meta.url)),
	'../../sandbox');
const RUN = 0x40, ACK = 0x41, BEGIN = 0x42, READY = 0x50;
export const INTERRUPT = 0x43;
const KINDS = { 0x51: 'result', 0x53: 'error', 0x54: 'done' };
const HEAD = 16;

/** The rows of kernels.def: [{ name, aliases, argv }]. */
export function rows() {
	const text = fs.readFileSync(path.join(KERNELS, 'kernels.def'), 'utf8')
		.replace(/\/\*[^]*?\*\//g, '');
	return [...text.matchAll(/^KERNEL\((\w+),([^]*?)\)$/gm)].map((row) => {
		const [aliases, ...argv] = [...row[2].matchAll(/"([^"]*)"/g)]
			.map((each) => each[1]);
		return { name: row[1], aliases: aliases.split(',').filter(Boolean),
			argv };
	});
}

let installed = null;

/** Where the kernels are installed: WARREN_KERNELS, or made here once. */
export function kernels() {
	if (!installed) {
		installed = process.env.WARREN_KERNELS ||
			path.join(os.tmpdir(), `warren-kernels-${process.getuid()}`);
		if (!process.env.WARREN_KERNELS)
			execFileSync(path.join(KERNELS, 'kernels', 'install.sh'),
				[installed], { stdio: ['ignore', 'inherit', 'inherit'] });
	}
	return installed;
}

/*
 * WARREN_FORKED=1: kernels are forked from a zygote that is warmed up for each
 * alone. What is forked is its one child.
 */
export const FORKED = Boolean(process.env.WARREN_FORKED);

/** ZYGOTE rows: [{ languages, argv }]. */
function zygotes() {
	const text = fs.readFileSync(path.join(KERNELS, 'zygotes.def'), 'utf8')
		.replace(/\/\*[^]*?\*\//g, '');
	return [...text.matchAll(/^ZYGOTE\(\w+,([^]*?)\)$/gm)].map((row) => {
		const [languages, ...argv] = [...row[1].matchAll(/"([^"]*)"/g)]
			.map((each) => each[1]);
		return { languages: languages.split(','), argv };
	});
}

function forkedArgv(language) {
	const row = zygotes().find((each) => each.languages.includes(language));
	return row && [...row.argv, '--alone',
		...row.languages.length > 1 ? [language] : []];
}

export class Kernel {
	static async start(language, options = {}) {
		const kernel = new Kernel(language, options);
		await kernel.ready;
		return kernel;
	}

	constructor(language, { env = {}, argv } = {}) {
		const home = kernels();
		this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'warren-k-'));
		const row = rows().find((each) => each.name === language);
		const forked = FORKED && !argv && forkedArgv(language);
		const command = (argv ?? (forked || row.argv)).map((each) =>
			each.replace('/opt/warren/kernels', home)
				.replace('/usr/bin/node', process.env.WARREN_NODE ||
					'/usr/bin/node'));
		const all = { PATH: process.env.PATH, HOME: this.dir,
			LANG: 'C.UTF-8', ...env };
		this.forked = Boolean(forked);
		this.child = spawn(command[0], command.slice(1), {
			cwd: this.dir, stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
			env: forked ? { PATH: all.PATH, HOME: this.dir,
				LANG: all.LANG } : all,
		});
		if (forked)
			this.write(BEGIN, 0, beginning(this.dir, all));
		this.sent = 0;
		this.waiting = [];
		this.run_ = null;
		this.idle = '';
		this.bytes = 0;
		this.pending = Buffer.alloc(0);
		this.queue = Promise.resolve();
		for (const [at, kind] of [[1, 'stdout'], [2, 'stderr']])
			this.child.stdio[at].on('data', (data) =>
				this.output(kind, data));
		this.ready = new Promise((resolve, reject) => {
			this.onReady = resolve;
			this.onExit = reject;
		});
		this.ready.catch(() => {});
		this.child.stdio[3].on('data', (data) => this.feed(data));
		this.child.stdio[3].on('error', () => {});
		this.exited = new Promise((resolve) => {
			this.child.on('close', (code, signal) => {
				this.onExit(new Error(`kernel ended: ${this.idle}`));
				this.lose();
				resolve({ code, signal });
			});
		});
		this.child.stdio[3].on('end', () => {
			this.eof = performance.now();
			this.lose();
		});
	}

	output(kind, data) {
		this.bytes += data.length;
		if (this.run_)
			this.push({ type: kind, text: data.toString() });
		else
			this.idle += data;
	}

	push(event) {
		event.at = performance.now() - this.run_.began;
		this.run_.events.push(event);
	}

	feed(data) {
		this.pending = Buffer.concat([this.pending, data]);
		while (this.pending.length >= HEAD) {
			const size = this.pending.readUInt32LE(0);
			if (this.pending.length < HEAD + size)
				return;
			const type = this.pending.readUInt16LE(4);
			const tag = this.pending.readUInt32LE(8);
			const text = new TextDecoder('utf-8', { fatal: true })
				.decode(this.pending.subarray(HEAD, HEAD + size));
			this.pending = this.pending.subarray(HEAD + size);
			this.queue = this.queue.then(() =>
				this.frame(type, tag, JSON.parse(text)));
		}
	}

	async frame(type, tag, body) {
		if (type === READY) {
			this.info = body;
			this.onReady();
			return;
		}
		await this.drain();
		if (tag !== this.run_?.tag)
			throw new Error(`frame ${type} of run ${tag}`);
		this.push({ type: KINDS[type], ...body });
		if (type === 0x51)
			this.write(ACK, tag);
		if (type === 0x54) {
			const run = this.run_;
			this.run_ = this.waiting.shift() ?? null;
			run.resolve(summary(run.events));
		}
	}

	/** Both pipes empty: what was written before a frame comes before it. */
	async drain() {
		let before;
		do {
			before = this.bytes;
			for (let turn = 0; turn < 3; turn++)
				await new Promise(setImmediate);
		} while (this.bytes !== before);
	}

	write(type, tag, payload = '', done = undefined) {
		const body = Buffer.from(payload);
		const head = Buffer.alloc(HEAD);
		head.writeUInt32LE(body.length, 0);
		head.writeUInt16LE(type, 4);
		head.writeUInt32LE(tag, 8);
		this.child.stdio[3].write(Buffer.concat([head, body]), done);
	}

	/** Run code; what it gave, see summary(). lost: the kernel ended. */
	run(code, options = {}) {
		return new Promise((resolve) => {
			const run = { events: [], resolve, began: performance.now(),
				tag: ++this.sent };
			this.write(RUN, run.tag, JSON.stringify({ code, ...options }));
			if (this.run_)
				this.waiting.push(run);
			else
				this.run_ = run;
			this.before = this.bytes;
		});
	}

	/** Until the run that was asked for last has printed something. */
	async begun() {
		while (this.bytes === this.before)
			await sleep(5);
	}

	lose() {
		if (!this.run_)
			return;
		const run = this.run_;
		this.run_ = null;
		run.resolve({ ...summary(run.events), lost: true });
	}

	/** The kernel's own process. */
	get pid() {
		const { pid } = this.child;
		return this.forked ? Number(fs.readFileSync(
			`/proc/${pid}/task/${pid}/children`, 'utf8')) : pid;
	}

	/** End the run that is on, however far it is; or just SIGINT. */
	interrupt() {
		if (this.run_)
			this.write(INTERRUPT, this.run_.tag, '',
				() => this.signal('SIGINT'));
		else
			this.signal('SIGINT');
	}

	signal(name) {
		try {
			process.kill(this.pid, name);
		} catch (error) {
			if (error.code !== 'ESRCH' && error.code !== 'ENOENT')
				throw error;
		}
	}

	async stop() {
		this.child.stdio[3].end();
		const timer = setTimeout(() => this.signal('SIGKILL'), 2000);
		const end = await this.exited;
		clearTimeout(timer);
		fs.rmSync(this.dir, { recursive: true, force: true });
		return end;
	}
}

function summary(events) {
	const of = (type) => events.filter((each) => each.type === type);
	const text = (type) => of(type).map((each) => each.text).join('');
	return { events, stdout: text('stdout'), stderr: text('stderr'),
		results: of('result'), error: of('error')[0], errors: of('error'),
		done: of('done')[0], dones: of('done').length };
}

/** What a forked kernel begins with, before anything else. */
function beginning(dir, env) {
	return [dir, ...Object.entries(env).map((each) => each.join('='))]
		.map((each) => `${each}\0`).join('');
}

/** The value of a run's last expression. */
export function value(run) {
	return run.results.find((each) => !each.display)?.mime;
}

/** As sleep, for parts of a millisecond: nothing else happens here. */
export function spin(ms) {
	const end = performance.now() + ms;

	while (performance.now() < end);
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
