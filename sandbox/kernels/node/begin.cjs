'use strict';
/*
 * What a forked kernel does first; it is confined already. It begins with
 * the cwd and the environment of its BEGIN frame. One that cannot be what an
 * exec'd kernel would be ends before READY: it is started by exec then.
 */

const v8 = require('node:v8');
const { Link, BEGIN } = require('./link.cjs');
const stop = require('./stop.cjs');

const NOT_ME = 75;
/* What is read at node's start only. */
const EARLY = /^(?:NODE_|LD_|MALLOC_|GLIBC_|UV_|SSL_|OPENSSL_|LC_|LANGUAGE$)/;
const LANG = 'C.UTF-8';
const TURNS = 4;
/* So often that the first runs after it find all memory touched. */
const USUAL = Array(4).fill(['1 + 1', 'console.log("x")', '({ a: [1] })'])
	.flat();

function setEnvironment(entries) {
	for (const name of Object.keys(process.env))
		delete process.env[name];
	for (const entry of entries) {
		const at = entry.indexOf('=');
		if (at > 0)
			process.env[entry.slice(0, at)] = entry.slice(at + 1);
	}
}

function readsEarly() {
	return (process.env.LANG ?? LANG) !== LANG ||
		Object.keys(process.env).some((name) => EARLY.test(name));
}

/* child: what enter.serve() or enter.alone() gave in the child. */
async function run(kernel, enter, child, fd) {
	/* node's own waits for threads that are not there */
	process.reallyExit = (code) =>
		enter.quit(Number(code ?? process.exitCode ?? 0) | 0);
	v8.setFlagsFromString(`--random-seed=${child.seed}`);
	Object.defineProperty(process, 'pid', {
		value: child.pid, configurable: true, enumerable: true,
		writable: false,
	});
	process.argv.splice(1, process.argv.length, __filename.replace(
		/begin\.cjs$/, 'kernel.cjs'), child.language);
	kernel.speak(child.language);
	if (!stop.readable(fd)) /* a spare one: there is time */
		await ahead(kernel);
	kernel.link = new Link(() => first(kernel));
	kernel.link.open(fd);
}

/* What would be done for the first time after BEGIN. */
async function ahead(kernel) {
	for (let turn = 0; turn < TURNS; turn++)
		begin(`/\0${Object.entries(process.env)
			.map((each) => `${each.join('=')}\0`).join('')}`);
	await kernel.rehearse(USUAL);
}

function first(kernel) {
	const frame = kernel.link.take(BEGIN);
	if (!frame || !begin(frame.payload.toString()))
		process.reallyExit(NOT_ME);
	kernel.ready();
	kernel.link.onFrame = () => kernel.next();
	kernel.next();
}

/* False: an exec'd kernel would be another. */
function begin(payload) {
	const [cwd, ...env] = payload.split('\0').slice(0, -1);
	setEnvironment(env);
	try {
		process.chdir(cwd);
	} catch {
		return false;
	}
	return !readsEarly();
}

module.exports = { run };
