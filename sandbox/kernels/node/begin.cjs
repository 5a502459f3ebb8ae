'use strict';
/*
 * What a forked kernel does first; it is confined already. It begins with
 * the cwd and the environment of its BEGIN frame. One that cannot be what an
 * exec'd kernel would be ends before READY: it is started by exec then.
 */

const fs = require('node:fs');
const v8 = require('node:v8');
const stop = require('./stop.cjs');

const BEGIN = 0x42;
const HEAD = 16;
const NOT_ME = 75;
/* What is read at node's start only. */
const EARLY = /^(?:NODE_|LD_|MALLOC_|GLIBC_|UV_|SSL_|OPENSSL_|LC_|LANGUAGE$)/;
const LANG = 'C.UTF-8';
/* So often that the first runs after it find all memory touched. */
const USUAL = Array(4).fill(['1 + 1', 'console.log("x")', '({ a: [1] })'])
	.flat();

function readExactly(fd, size) {
	const data = Buffer.alloc(size);
	for (let at = 0; at < size;) {
		const got = fs.readSync(fd, data, at, size - at, null);
		if (!got)
			process.reallyExit(0);
		at += got;
	}
	return data;
}

function beginFrame(fd) {
	const head = readExactly(fd, HEAD);
	if (head.readUInt16LE(4) !== BEGIN)
		process.reallyExit(NOT_ME);
	const texts = readExactly(fd, head.readUInt32LE(0)).toString()
		.split('\0');
	return { cwd: texts[0], env: texts.slice(1, -1) };
}

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
	if (!stop.readable(fd)) /* a spare one: there is time */
		await kernel.rehearse(USUAL);
	const { cwd, env } = beginFrame(fd);
	setEnvironment(env);
	try {
		process.chdir(cwd);
	} catch {
		process.reallyExit(NOT_ME);
	}
	if (readsEarly())
		process.reallyExit(NOT_ME);
	process.argv.splice(1, process.argv.length, __filename.replace(
		/begin\.cjs$/, 'kernel.cjs'), child.language);
	kernel.serve(child.language, fd);
}

module.exports = { run, BEGIN, HEAD };
