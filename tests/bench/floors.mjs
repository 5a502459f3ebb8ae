/**
 * The floors: what the same work costs without this service. Each floor is
 * started once and then asked for one measurement at a time, so that it runs
 * between the measurements of its row.
 */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, readFileSync,
	renameSync, watch, writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

import { freePort } from '../e2e/lib/server.mjs';
import { until } from '../e2e/lib/wait.mjs';
import { Connection } from './connection.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** A program that answers each line with one line. */
class LineProgram {
	#child;
	#lines;

	constructor(program, args) {
		this.#child = spawn(program, args,
			{ stdio: ['pipe', 'pipe', 'inherit'] });
		this.#lines = readline.createInterface(
			{ input: this.#child.stdout })[Symbol.asyncIterator]();
	}

	async ask(line) {
		this.#child.stdin.write(`${line}\n`);
		const { value, done } = await this.#lines.next();
		if (done)
			throw new Error('a floor program ended');
		return value;
	}

	close() {
		this.#child.stdin.end();
	}
}

/** Milliseconds of posix_spawn, run and wait of ${argv}. */
export class SpawnFloor {
	#program;

	static build(dir) {
		const program = path.join(dir, 'spawn_floor');

		execFileSync('cc', ['-std=gnu17', '-O2', '-D_GNU_SOURCE', '-o',
			program, here('spawn_floor.c')]);
		return program;
	}

	constructor(built, ...argv) {
		this.#program = new LineProgram(built, argv);
	}

	async measure() {
		return Number(await this.#program.ask('')) / 1e6;
	}

	close() {
		this.#program.close();
	}
}

/** Milliseconds of one line in a Python that runs already. */
export class PythonFloor {
	#program = new LineProgram('python3', ['-I', here('bare_python.py')]);

	async measure(line) {
		const start = performance.now();
		await this.#program.ask(line);
		return performance.now() - start;
	}

	close() {
		this.#program.close();
	}
}

/** ipykernel, as notebooks have it; see bare_ipykernel.py. */
export class IpykernelFloor {
	#program = new LineProgram('/usr/bin/python3',
		['-I', here('bare_ipykernel.py')]);

	/** Milliseconds of ${code} in a "new" kernel, or a "run" in one. */
	async measure(what, code) {
		return Number(await this.#program.ask(
			`${what} ${code.replaceAll('\n', '\\n')}`));
	}

	close() {
		this.#program.close();
	}
}

const CONF = (dir, port, app) => `
daemon off;
worker_processes 2;
pid ${dir}/nginx.pid;
error_log ${dir}/error.log;
events {}
http {
	access_log off;
	client_body_temp_path ${dir}/body;
	proxy_temp_path ${dir}/proxy;
	fastcgi_temp_path ${dir}/fastcgi;
	uwsgi_temp_path ${dir}/uwsgi;
	scgi_temp_path ${dir}/scgi;
	upstream app {
		server 127.0.0.1:${app};
		keepalive 32;
	}
	server {
		listen 127.0.0.1:${port};
		location / {
			proxy_pass http://app;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_buffering off;
		}
		location /files/ {
			root ${dir};
			dav_methods PUT;
			create_full_put_path on;
			client_max_body_size 0;
		}
	}
}
`;

/** The preview's server outside, behind an nginx that proxies straight. */
export class DirectProxy {
	#children = [];
	#own;
	connection;

	static async start(dir) {
		const direct = new DirectProxy();
		const app = await freePort();
		const own = direct.#own = path.join(dir, 'direct');
		mkdirSync(own);
		/* nginx drops root. */
		mkdirSync(path.join(own, 'files'));
		for (const name of ['', 'files'])
			chmodSync(path.join(own, name), 0o777);
		chmodSync(dir, 0o755);
		direct.#run('node', [here('web_app.js'), String(app)]);
		await answers(app);
		const port = await freePort();
		const conf = path.join(own, 'nginx.conf');
		writeFileSync(conf, CONF(own, port, app));
		direct.#run('nginx', ['-c', conf, '-p', own, '-e',
			path.join(own, 'error.log')]);
		await answers(port);
		direct.connection = new Connection(`http://127.0.0.1:${port}`);
		return direct;
	}

	#run(program, args) {
		this.#children.push(spawn(program, args,
			{ stdio: ['ignore', 'ignore', 'inherit'] }));
	}

	/** What was sent to /files/${name} is on the disk. */
	syncFile(name) {
		syncOf(path.join(this.#own, 'files', name));
	}

	close() {
		this.connection.close();
		for (const child of this.#children)
			child.kill('SIGTERM');
	}
}

function answers(port) {
	return until(10_000, `an answer of port ${port}`,
		() => new Promise((resolve) => {
			http.get({ port, host: '127.0.0.1', agent: false },
				(response) => {
					response.resume();
					resolve(response.statusCode === 200);
				}).on('error', () => resolve(false));
		}));
}

/** ${name} is on the disk. */
function syncOf(name) {
	const fd = openSync(name);

	fsyncSync(fd);
	closeSync(fd);
}

/**
 * Milliseconds to write and to read ${text} with nothing between. With ${sync}
 * it is written beside, on the disk, and gets its name, which is there as well.
 */
export function fileFloor(dir, text, sync) {
	const file = path.join(dir, 'floor.txt');
	const start = performance.now();

	if (sync) {
		writeFileSync(`${file}.new`, text);
		syncOf(`${file}.new`);
		renameSync(`${file}.new`, file);
		syncOf(dir);
	} else {
		writeFileSync(file, text);
	}
	const written = performance.now();
	readFileSync(file, 'utf8');
	return { write: written - start, read: performance.now() - written };
}

/** node's own watch of a directory in which ${program} makes files. */
export class WatchFloor {
	#child;
	#watcher;
	#told;

	constructor(dir, program, ageOf) {
		const top = path.join(dir, 'watched');

		mkdirSync(top);
		this.#child = spawn('python3', ['-u', '-c', program, top],
			{ stdio: ['pipe', 'ignore', 'inherit'] });
		this.#watcher = watch(top, (type, name) => {
			if (type === 'rename')
				this.#told?.(ageOf(name));
		});
	}

	measure() {
		return new Promise((done) => {
			this.#told = done;
			this.#child.stdin.write('\n');
		});
	}

	close() {
		this.#watcher.close();
		this.#child.stdin.end();
	}
}
