'use strict';
/*
 * The JavaScript and TypeScript kernel: node kernel.cjs javascript|typescript.
 * A zygote makes a Kernel, forks, and calls serve() in the child.
 *
 * A cell is evaluated by V8's own REPL mode (inspector, replMode), so names
 * persist, may be declared again and top-level await works; only imports are
 * rewritten, and types are stripped by esbuild. Frames come and go on fd 3.
 */

const inspector = require('node:inspector');
const util = require('node:util');
const vm = require('node:vm');
const { Link, Rehearsal, RUN, READY, RESULT, ERROR, DONE } =
	require('./link.cjs');
const display = require('./display.cjs');
const errors = require('./errors.cjs');
const scope = require('./scope.cjs');
const stdin = require('./stdin.cjs');
const stdio = require('./stdio.cjs');
const stop = require('./stop.cjs');
const timers = require('./timers.cjs');

const IMPORTS = /\b(?:import|export)\b/;
const later = setImmediate;

class Kernel {
	constructor() {
		this.typescript = null;
		this.extension = 'js';
		this.count = 0;
		this.run = null;
		this.held = undefined;
		this.session = new inspector.Session();
		this.session.connect();
		this.guarded = false;
		this.early = false;
		this.link = null;
		stdio.install();
		errors.install();
		scope.install(this);
		timers.install(this);
		process.on('uncaughtException', (error) => this.report(error));
		this.watchRejections();
	}

	/* Take runs from the socket until it ends. */
	serve(language, fd) {
		this.speak(language);
		this.link = new Link(() => this.next());
		this.link.open(fd);
		this.ready();
	}

	speak(language) {
		this.language = language;
		if (language === 'typescript') {
			this.typescript = require('./typescript.cjs');
			this.extension = 'ts';
		}
		stop.watch(() => this.signalled());
	}

	ready() {
		this.link.send(READY, 0, {
			language: this.language, version: process.versions.node,
		});
	}

	/* Run cells for what their code leaves in caches; nobody hears it. */
	async rehearse(cells) {
		stdio.mute(true);
		await new Promise((done) => {
			this.link = new Rehearsal(() => this.next(),
				() => later(done));
			this.link.play(cells);
		});
		stdio.mute(false);
		this.link = null;
		this.count = 0;
	}

	/* A rejection counts when a turn later still nothing handles it. */
	watchRejections() {
		const open = new Set();
		process.on('unhandledRejection', (error, promise) => {
			open.add(promise);
			later(() => open.delete(promise) && this.report(error));
		});
		process.on('rejectionHandled',
			(promise) => open.delete(promise));
	}

	/* Start the next run, if one waits and none is on. */
	next() {
		if (this.run)
			return;
		const frame = this.link.take(RUN);
		if (!frame)
			return;
		const { code, ...given } = JSON.parse(frame.payload.toString());
		const run = { tag: frame.tag, timers: new Set(), undo: [] };
		this.run = run;
		this.count++;
		stop.arm();
		if (this.cameEarly(run)) {
			this.interrupt();
			return;
		}
		this.execute(run, String(code), given)
			.catch((error) => run.over || this.finish(run, error));
	}

	/* A SIGINT that found no run may be for this one. */
	cameEarly(run) {
		const came = stop.take() || this.early;
		this.early = false;
		return came && this.link.interrupted(run.tag);
	}

	async execute(run, code, given) {
		setUp(run, given);
		const name = `cell${this.count}.${this.extension}`;
		const script = this.prepare(code, name);
		const value = await this.evaluate(run, script, name);
		if (this.run !== run || run.over)
			return;
		if (value !== undefined)
			this.guard(() => this.show(value, false));
		/* turns, so that what the cell rejected is still its own */
		later(() => later(() => run.over || this.finish(run)));
	}

	prepare(code, name) {
		let script = code;
		if (this.typescript)
			script = this.typescript.strip(code, name);
		if (IMPORTS.test(script))
			script = require('./imports.cjs').rewrite(script, name);
		return literal(script) || script;
	}

	/* The cell's value, a promise resolved. */
	async evaluate(run, script, name) {
		const answer = await new Promise((resolve, reject) => {
			const post = () => this.session.post('Runtime.evaluate', {
				expression: `${script}\n//# sourceURL=${name}`,
				replMode: true, awaitPromise: true, silent: true,
				objectGroup: 'run',
			}, (error, result) =>
				error ? reject(error) : resolve(result));
			/*
			 * not within a microtask, or the guard could not run
			 * those that the cell makes; a SIGINT comes in before
			 */
			later(() => this.run === run && !run.over &&
				this.guard(post));
		});
		const { result, exceptionDetails: failed } = answer;
		const value = this.fetch(failed ? failed.exception : result);
		this.session.post('Runtime.releaseObjectGroup',
			{ objectGroup: 'run' });
		if (failed)
			throw errors.from(failed, value, script, name);
		if (!util.types.isPromise(value))
			return value;
		return new Promise((resolve, reject) =>
			value.then(resolve, reject));
	}

	/* The value behind an inspector's RemoteObject. */
	fetch(remote) {
		if (!remote.objectId)
			return remote.unserializableValue === undefined ?
				remote.value : special(remote.unserializableValue);
		this.session.post('Runtime.callFunctionOn', {
			objectId: remote.objectId, silent: true,
			functionDeclaration:
				'function () { "use strict"; __warren.hold(this) }',
		});
		const value = this.held;
		this.held = undefined;
		return value;
	}

	/*
	 * Call fn so that SIGINT stops it, and the microtasks that it leaves,
	 * even in a loop without end.
	 */
	guard(fn) {
		if (this.guarded)
			return fn();
		this.guarded = true;
		try {
			const stopped = stop.guard(() => {
				fn();
				try {
					process._tickCallback();
				} catch (error) {
					this.report(error);
				}
			});
			if (stopped)
				this.interrupt();
		} finally {
			this.guarded = false;
		}
	}

	/* SIGINT, and no guard was there that it ended. */
	signalled() {
		if (process.listenerCount('SIGINT'))
			this.guard(() => process.emit('SIGINT', 'SIGINT', 2));
		if (!this.run)
			this.early = true;
		this.interrupt();
	}

	/* Give up the running cell; its timers go with it. */
	interrupt() {
		const run = this.run;
		if (!run || run.over)
			return;
		run.over = true;
		for (const timer of run.timers)
			timers.clear(timer);
		const error = errors.interrupted();
		/* what it left to run at once may make no timers any more */
		later(() => this.finish(run, error));
	}

	finish(run, ...failed) {
		stop.held(() => this.end(run, ...failed));
	}

	end(run, error) {
		if (this.run !== run)
			return;
		if (arguments.length > 1)
			this.link.send(ERROR, run.tag, errors.describe(error));
		for (const undo of run.undo.reverse())
			undo();
		this.link.send(DONE, run.tag, { execution_count: this.count });
		run.timers = null;
		this.run = null;
		this.next();
	}

	/* An error that no code of the tenant's caught. */
	report(error) {
		const payload = errors.describe(error);
		if (this.run && !this.run.over)
			this.link.send(ERROR, this.run.tag, payload);
		else
			process.stderr.write(payload.traceback.join('\n') + '\n');
	}

	/* Send a value as a result of the running cell. */
	show(value, asDisplay) {
		this.publish(display.bundle(value), asDisplay);
	}

	publish(mime, asDisplay) {
		if (this.run && !this.run.over)
			this.link.send(RESULT, this.run.tag,
				{ mime, display: asDisplay });
		else
			process.stdout.write(`${mime['text/plain'] ?? ''}\n`);
	}
}

/* The run's own environment, directory and input, and the way back. */
function setUp(run, { env, cwd, stdin: text }) {
	for (const [name, value] of Object.entries(env ?? {})) {
		if (value === null)
			continue;
		const old = process.env[name];
		process.env[name] = value;
		run.undo.push(() => {
			if (old === undefined)
				delete process.env[name];
			else
				process.env[name] = old;
		});
	}
	if (cwd)
		change(run, cwd);
	if (typeof text === 'string')
		run.undo.push(stdin.give(text));
}

function change(run, cwd) {
	const old = process.cwd();
	process.chdir(cwd);
	run.undo.push(() => {
		try {
			process.chdir(old);
		} catch {
			/* it was removed meanwhile: stay */
		}
	});
}

/* A cell that is one object literal is not meant as a block. */
function literal(script) {
	if (!/^\s*\{/.test(script) || !/\}\s*$/.test(script))
		return null;
	const wrapped = `(${script.trim()}\n)`;
	try {
		new vm.Script(wrapped);
		return wrapped;
	} catch {
		return null;
	}
}

function special(text) {
	return text.endsWith('n') ? BigInt(text.slice(0, -1)) : Number(text);
}

module.exports = { Kernel };

if (require.main === module)
	new Kernel().serve(process.argv[2], 3);
