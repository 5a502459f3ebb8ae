/**
 * The rows. Each has a measurement of ours, one of its floor, and the first
 * target, all for the median in milliseconds.
 *
 * open() prepares, ours() and floor() measure once and give milliseconds,
 * close() ends. What is only preparation or cleaning up is not timed. A row
 * that takes long is measured in each ${every}th round only. Long, as
 * a row is a class of twenty lines and most share the few before them.
 */
import { once } from 'node:events';
import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync }
	from 'node:fs';
import path from 'node:path';

import { timed, until } from '../e2e/lib/wait.mjs';
import { Connection } from './connection.mjs';
import { fileFloor, IpykernelFloor, PythonFloor, SpawnFloor, WatchFloor }
	from './floors.mjs';

const PORT = 8700;
const BATCH = 200;
const REFILL_MS = 150;
const PARALLEL = 16;
const MIB_TEXT = 'x'.repeat(1 << 20);
const PLOT = 'import matplotlib.pyplot as plt\n' +
	'plt.plot([1, 2, 3])\nplt.show()';
const BARE_PLOT = 'import matplotlib; matplotlib.use("Agg"); ' +
	'import matplotlib.pyplot as plt, io; plt.plot([1, 2, 3]); ' +
	'plt.savefig(io.BytesIO(), format="png")';

const TABLE = 'pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})';

const msOf = async (call) => (await timed(call)).ms;

/** Rows that share one warm sandbox. */
class Warm {
	constructor(bench) {
		this.bench = bench;
	}

	async open() {
		this.sandbox = this.bench.service.sandbox();
		await this.sandbox.exec('true');
	}

	ping() {
		return msOf(() => this.sandbox.ping());
	}

	async close() {
		await this.sandbox.destroy();
	}
}

class Ping extends Warm {
	static label = 'ping (the way through nginx and a worker)';
	static floorLabel = 'nginx proxying to a node server';

	async open() {
		await super.open();
		this.direct = await this.bench.direct();
	}

	ours() {
		return this.ping();
	}

	floor() {
		return msOf(() => this.direct.connection.send('GET', '/'));
	}
}
class Exec extends Warm {
	static label = 'exec `true`, sessionless';
	static floorLabel = 'posix_spawn of /bin/true + ping';
	static target = 2;

	async open() {
		await super.open();
		this.spawn = new SpawnFloor(this.bench.spawnFloor, '/bin/true');
	}

	ours() {
		return msOf(() => this.sandbox.exec('true'));
	}

	async floor() {
		return await this.spawn.measure() + await this.ping();
	}

	async close() {
		this.spawn.close();
		await super.close();
	}
}

class ExecSession extends Exec {
	static label = 'exec `true`, in a session';
	static target = 3;

	ours() {
		return msOf(() => this.sandbox.exec('true', 'bench'));
	}
}

class Output extends Warm {
	static label = 'exec, 1 MB of stdout';
	static floorLabel = 'posix_spawn of the same + ping';
	static target = 8;
	static command = 'head -c 1000000 /dev/zero | tr "\\0" x';

	async open() {
		await super.open();
		this.spawn = new SpawnFloor(this.bench.spawnFloor, '/bin/bash',
			'-c', Output.command);
	}

	ours() {
		return msOf(() => this.sandbox.exec(Output.command));
	}

	async floor() {
		return await this.spawn.measure() + await this.ping();
	}

	async close() {
		this.spawn.close();
		await super.close();
	}
}

class Create extends Exec {
	static label = 'create a sandbox + first command';
	static target = 10;

	async ours() {
		const fresh = this.bench.service.sandbox();
		const ms = await msOf(() => fresh.exec('true'));
		await fresh.destroy();
		return ms;
	}
}

class NewContext extends Warm {
	static label = 'new Python context to first result';
	static floorLabel = 'posix_spawn of python3 -I -c 1';
	static target = 12;
	static language = 'python';
	static code = '1 + 1';
	static expected = /"text":\s*"2"/;
	static bare = ['/usr/bin/python3', '-I', '-c', '1'];
	static program = 'print(open("/proc/self/cmdline").read())';

	async open() {
		await super.open();
		this.spawn = new SpawnFloor(this.bench.spawnFloor,
			...this.constructor.bare);
		/* just started, a service may have no zygote yet */
		await until(60_000, 'a context out of a zygote', () =>
			this.once(this.constructor.program, /zygote/)
				.catch(() => undefined));
	}

	async once(code, expected) {
		let id;

		try {
			return await msOf(async () => {
				id = await this.sandbox.newContext(
					this.constructor.language);
				await this.sandbox.run(id, code, expected);
			});
		} finally {
			await this.sandbox.dropContext(id);
		}
	}

	ours() {
		return this.once(this.constructor.code, this.constructor.expected);
	}

	floor() {
		return this.spawn.measure();
	}

	async close() {
		this.spawn.close();
		await super.close();
	}
}

class NewNodeContext extends NewContext {
	static label = 'new JavaScript context to first result';
	static floorLabel = 'posix_spawn of node -e 1';
	static language = 'javascript';
	static bare = ['/usr/bin/node', '-e', '1'];
	static program = 'console.log(require("node:fs")' +
		'.readFileSync("/proc/self/cmdline", "utf8"))';
}

class FirstTable extends NewContext {
	static label = 'new Python context to first DataFrame';
	static floorLabel = 'posix_spawn of python3 that makes one';
	static target = 25;
	static code = `import pandas as pd\n${TABLE}`;
	static expected = /"html":\s*"<div>/;
	static bare = ['/usr/bin/python3', '-I', '-c',
		`import pandas as pd; ${TABLE}._repr_html_()`];
}

class FirstPlot extends NewContext {
	static label = 'new Python context to first plot';
	static floorLabel = 'posix_spawn of python3 that plots';
	static target = 130;
	static code = PLOT;
	static expected = /"png":\s*"iVBOR/;
	static bare = ['/usr/bin/python3', '-I', '-c', BARE_PLOT];
}

class WarmRun extends Warm {
	static label = 'runCode in a warm context';
	static floorLabel = 'a line in a bare Python loop + ping';
	static target = 2;

	async open() {
		await super.open();
		this.python = new PythonFloor();
		this.context = await this.sandbox.newContext('python');
	}

	ours() {
		return msOf(() =>
			this.sandbox.run(this.context, '1 + 1', /"text":\s*"2"/));
	}

	async floor() {
		return await this.python.measure('1 + 1') + await this.ping();
	}

	async close() {
		this.python.close();
		await super.close();
	}
}

/** The same beside ipykernel: what notebooks and most sandboxes run. */
const besideIpykernel = (Row, label, code = Row.code) =>
	class extends Row {
		static label = label;
		static floorLabel = 'ipykernel by jupyter_client';

		async open() {
			await super.open();
			this.ipykernel = new IpykernelFloor();
		}

		floor() {
			return this.ipykernel.measure('new', code);
		}

		async close() {
			this.ipykernel.close();
			await super.close();
		}
	};

class WarmIpykernel extends Warm {
	static label = 'runCode in a warm context, beside ipykernel';
	static floorLabel = 'ipykernel by jupyter_client, a warm one';
	static target = 2;
	static code = '1 + 1';
	static expected = /"text":\s*"2"/;

	async open() {
		await super.open();
		this.ipykernel = new IpykernelFloor();
		this.context = await this.sandbox.newContext('python');
	}

	ours() {
		const { code, expected } = this.constructor;

		return msOf(() => this.sandbox.run(this.context, code, expected));
	}

	floor() {
		return this.ipykernel.measure('run', this.constructor.code);
	}

	async close() {
		this.ipykernel.close();
		await super.close();
	}
}

class SecondPlot extends WarmIpykernel {
	static label = 'second plot in a context, beside ipykernel';
	static target = 90;
	static code = `%matplotlib inline\n${PLOT}`;
	static expected = /"png":\s*"iVBOR/;
}

/** Out of the pool: once another waits again, which is not timed. */
const outOfPool = (Row, label) => class extends Row {
	static label = label;
	static target = 4;

	async ours() {
		await new Promise((done) => setTimeout(done, REFILL_MS));
		return super.ours();
	}
};

/** Rows over one server inside and the same one outside. */
class Preview extends Warm {
	static label = 'preview, 1 KiB';
	static floorLabel = 'nginx proxying straight to the server';
	static page = '/';

	async open() {
		await super.open();
		this.direct = await this.bench.direct();
		await this.sandbox.write('web_app.js', readFileSync(
			new URL('web_app.js', import.meta.url), 'utf8'));
		await this.sandbox.start(`node web_app.js ${PORT}`);
		const { url } = await this.sandbox.expose(PORT);
		this.preview = new Connection(url);
		await until(15_000, 'the server inside', () =>
			this.preview.send('GET', '/').catch(() => undefined));
	}

	get(connection) {
		return msOf(() =>
			connection.send('GET', this.constructor.page));
	}

	ours() {
		return this.get(this.preview);
	}

	floor() {
		return this.get(this.direct.connection);
	}

	async close() {
		this.preview.close();
		await super.close();
	}
}

class PreviewLarge extends Preview {
	static label = 'preview, 1 MiB';
	static page = '/large';
}

class PreviewBatch extends Preview {
	static label = `preview, ${BATCH} requests by ${PARALLEL} clients`;
	static ratio = 1 / 0.8;

	get(connection) {
		let left = BATCH;
		const client = async () => {
			while (left-- > 0)
				await connection.send('GET', '/');
		};

		return msOf(() => Promise.all(
			Array.from({ length: PARALLEL }, client)));
	}
}

/** What wakes a sandbox, and the same while it is awake. */
class WakeExec extends Warm {
	static label = 'wake by a command';
	static floorLabel = 'the command while it is awake';
	static target = 10;

	floor() {
		return msOf(() => this.sandbox.exec('true'));
	}

	async ours() {
		await this.sandbox.sleep();
		return this.floor();
	}
}

class WakePreview extends Preview {
	static label = 'wake by a preview\'s hit';
	static floorLabel = 'the hit while it is awake';
	static target = 20;

	floor() {
		return this.get(this.preview);
	}

	async ours() {
		await this.sandbox.sleep();
		return this.floor();
	}
}

const jsonOf = (value) => Buffer.from(JSON.stringify(value));
const FILE = '/workspace/f';
const wholeFile = (sync) =>
	jsonOf({ path: FILE, content: MIB_TEXT, sync });

/* An answer says that it is on the disk; so does the floor. */
class File extends Warm {
	static label = 'write + read 1 MiB';
	static floorLabel = 'the same by fs, with fsync + 2 pings';
	static target = 6;
	static sync = true;
	static whole = wholeFile(true);
	static ask = jsonOf({ path: FILE });
	static content = Buffer.from(`"content":"${MIB_TEXT}"`);

	write() {
		return this.sandbox.bytes('write', this.constructor.whole);
	}

	async read() {
		const answer = await this.sandbox.bytes('read', File.ask);

		if (!answer.includes(File.content))
			throw new Error('another content');
	}

	ours() {
		return msOf(async () => {
			await this.write();
			await this.read();
		});
	}

	async floor() {
		const { write, read } = fileFloor(this.bench.dir, MIB_TEXT,
			this.constructor.sync);

		return write + read + await this.ping() + await this.ping();
	}
}

class FileFree extends File {
	static label = 'write + read 1 MiB, sync: false';
	static floorLabel = 'the same by fs + 2 pings';
	static sync = false;
	static whole = wholeFile(false);
}

class FileWrite extends File {
	static label = 'write 1 MiB';
	static floorLabel = 'the same by fs, with fsync + ping';
	static target = undefined;

	ours() {
		return msOf(() => this.write());
	}

	async floor() {
		return fileFloor(this.bench.dir, MIB_TEXT, true).write +
			await this.ping();
	}
}

class FileRead extends File {
	static label = 'read 1 MiB';
	static floorLabel = 'the same by fs + ping';
	static target = undefined;

	async open() {
		await super.open();
		await this.write();
	}

	ours() {
		return msOf(() => this.read());
	}

	async floor() {
		return fileFloor(this.bench.dir, MIB_TEXT, false).read +
			await this.ping();
	}
}

const LARGE = Buffer.alloc(128 << 20, 'large');
const ROUNDS_OF_LARGE = 10;

/*
 * The target for both directions: 0.6 of the rate. What nginx takes alone is
 * not on the disk; it is before we answer, unless that is not asked for.
 */
class Upload extends Warm {
	static label = 'raw upload, 128 MiB, sync=0';
	static floorLabel = 'nginx alone, into a file';
	static ratio = 1 / 0.6;
	static times = 1;
	static query = '?sync=0';

	get file() {
		return `large${this.constructor.times}`;
	}

	async open() {
		await super.open();
		this.direct = await this.bench.direct();
	}

	ours() {
		const { times, query } = this.constructor;

		return msOf(() => this.sandbox.put(this.file + query, LARGE, times));
	}

	floor() {
		return msOf(() => this.direct.connection.transfer('PUT',
			`/files/${this.file}`, LARGE, this.constructor.times));
	}
}

class UploadSynced extends Upload {
	static label = 'raw upload, 128 MiB';
	static floorLabel = 'nginx alone, then fsync';
	static query = '';

	floor() {
		return msOf(async () => {
			await super.floor();
			this.direct.syncFile(this.file);
		});
	}
}

class Download extends Upload {
	static label = 'raw download, 128 MiB';
	static floorLabel = 'nginx alone, of a file';

	async open() {
		await super.open();
		await super.ours();
		await super.floor();
	}

	ours() {
		return msOf(() => this.sandbox.get(this.file));
	}

	floor() {
		return msOf(() => this.direct.connection.transfer('GET',
			`/files/${this.file}`));
	}
}

/** The same with 1 GiB, in some of the rounds. */
const ofGiB = (Row) => class extends Row {
	static label = Row.label.replace('128 MiB', '1 GiB');
	static times = 8;
	static every = ROUNDS_OF_LARGE;
};

class List extends Warm {
	static label = 'list 10,000 files';
	static ask = jsonOf({ path: '/workspace/many' });
	static floorLabel = 'readdir and stat by fs + ping';
	static target = 30;

	async open() {
		await super.open();
		await this.sandbox.exec('mkdir /workspace/many; ' +
			'cd /workspace/many; seq 10000 | xargs touch');
		this.dir = path.join(this.bench.dir, 'many');
		mkdirSync(this.dir, { recursive: true });
		for (let i = 0; i < 10000; i++)
			writeFileSync(path.join(this.dir, String(i)), '');
	}

	ours() {
		return msOf(async () => {
			const answer = await this.sandbox.bytes('list-files',
				List.ask);
			if (!answer.includes('"count":10000'))
				throw new Error('not all files');
		});
	}

	async floor() {
		const start = performance.now();
		for (const name of readdirSync(this.dir))
			lstatSync(path.join(this.dir, name));
		return performance.now() - start + await this.ping();
	}
}

/* Makes a file for each line it reads; the name is the time. */
const TOUCH = `import sys, time
for line in sys.stdin:
    open(f"{sys.argv[1]}/t{time.time_ns()}", "x").close()
`;

/** Milliseconds since a file of TOUCH was made, by its name in a text. */
function ageOf(text) {
	const [, ns] = /\/?t(\d{19})/.exec(text);

	return performance.timeOrigin + performance.now() - Number(ns) / 1e6;
}

class Watch extends Warm {
	static label = 'watch: a file is made to its event';
	static floorLabel = 'fs.watch of a node outside';
	static target = 5;

	async open() {
		await super.open();
		await this.sandbox.write('/workspace/w/touch.py', TOUCH);
		this.touch = await this.sandbox.start(
			'python3 -u w/touch.py /workspace/w', { openStdin: true });
		this.events = await this.sandbox.watch('/workspace/w');
		this.near = new WatchFloor(this.bench.dir, TOUCH, ageOf);
		await once(this.events, 'data');
	}

	async ours() {
		const made = new Promise((done) => {
			const look = (data) => {
				const text = String(data);

				if (!/\/t\d{19}/.test(text))
					return;
				this.events.off('data', look);
				done(ageOf(text));
			};
			this.events.on('data', look);
		});

		await this.sandbox.feed(this.touch.processId, '\n');
		return made;
	}

	floor() {
		return this.near.measure();
	}

	async close() {
		this.near.close();
		this.events.destroy();
		await super.close();
	}
}

const HISTORY = new URL('../e2e/guest/git_history.py', import.meta.url);
const GIT_SERVER = new URL('../e2e/guest/git_server.js', import.meta.url);
const makeHistory = (files) => `git init -q --bare -b main large.git &&
	python3 git_history.py ${files / 10} ${files} |
	git -C large.git fast-import --quiet --done`;

/**
 * By us and by the git program, both in the sandbox and from a server there.
 * What is cloned stays until a new sandbox takes over: for minutes after many
 * files were deleted, ext4 without a journal makes new ones slowly.
 */
class Clone extends Warm {
	static label = 'git clone, 2,000 files in 200 commits';
	static floorLabel = '`git clone` run in the sandbox';
	static ratio = 1.3;
	static files = 2000;
	static room = 20; /* clones by each */
	static url = 'http://127.0.0.1:8123/large.git';

	async open() {
		await super.open();
		this.made = { ours: 0, floor: 0 };
		for (const url of [HISTORY, GIT_SERVER])
			await this.sandbox.write(`/workspace/git/${
				path.basename(url.pathname)}`, readFileSync(url, 'utf8'));
		await this.sandbox.exec(`cd /workspace/git && ${
			makeHistory(this.constructor.files)}`);
		await this.sandbox.start('cd git && exec node git_server.js 8123');
		await until(30_000, 'the server inside', () =>
			this.clone().catch(() => undefined));
	}

	clone() {
		return msOf(() => this.sandbox.checkout(this.constructor.url,
			`/workspace/ours${this.made.ours++}`));
	}

	async ours() {
		if (this.made.ours > this.constructor.room) {
			await this.close();
			await this.open();
		}
		return this.clone();
	}

	floor() {
		return msOf(() => this.sandbox.exec(`git clone -q ${
			this.constructor.url} /workspace/floor${this.made.floor++}`));
	}
}

class CloneLarge extends Clone {
	static label = 'git clone, 20,000 files in 2,000 commits';
	static files = 20000;
	static room = 3;
	static every = ROUNDS_OF_LARGE;
}

export const rows = [Ping, Exec, ExecSession, Output, Create, NewContext,
	NewNodeContext, WarmRun, FirstTable, FirstPlot, Preview, PreviewLarge,
	PreviewBatch, WakeExec, WakePreview, File, FileFree, FileWrite,
	FileRead, List, Upload, UploadSynced, Download, ofGiB(Upload),
	ofGiB(UploadSynced), ofGiB(Download), Watch, Clone, CloneLarge];

/** With --ipykernel: it takes a second for each kernel. */
export const ipykernelRows = [
	besideIpykernel(NewContext, 'new Python context, beside ipykernel'),
	WarmIpykernel,
	besideIpykernel(FirstTable,
		'new context to first DataFrame, beside ipykernel'),
	besideIpykernel(FirstPlot,
		'new context to first plot, beside ipykernel',
		`%matplotlib inline\n${PLOT}`),
	SecondPlot,
];

/** With --pool, on a stack that has one. */
export const poolRows = [
	outOfPool(NewContext, 'Python context out of the pool'),
	outOfPool(NewNodeContext, 'JavaScript context out of the pool'),
];
