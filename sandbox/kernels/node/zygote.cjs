'use strict';
/*
 * The Node zygote: node FLAGS zygote.cjs. Warms a kernel up, tests that forks
 * of it work, and forks one into a sandbox for each request of the broker.
 *
 * Node does not support being forked. What makes it work: V8 leaves nothing
 * to other threads (the flag), memory that it wants left out of a fork is
 * taken in again, a new event loop, a new random seed and pid. If it does not
 * work here, the self-test says so and contexts are started by exec.
 *
 * zygote.cjs --alone LANGUAGE: one fork that enters no sandbox, for tests.
 */

const fs = require('node:fs');
const { Kernel } = require('./kernel.cjs');
const enter = require('./warren_enter.node');
const begin = require('./begin.cjs');
const scope = require('./scope.cjs');
const selftest = require('./selftest.cjs');

/* What code that is always run leaves in V8's caches is shared. */
async function rehearse(kernel) {
	scope.loadLazy();
	require('./typescript.cjs').strip('1 + 1', 'cell0.ts');
	require('./imports.cjs').rewrite('import("node:fs")', 'cell0.js');
	await kernel.rehearse(['1 + 1', 'console.log("x")', '({ a: [1] })',
		'await 1', 'null.x']);
}

function follow(pid) {
	for (const fd of [1, 2, 3])
		fs.closeSync(fd);
	const status = enter.reap(pid);
	if (status & 0x7f)
		process.kill(process.pid, status & 0x7f);
	process.reallyExit(status >> 8);
}

async function main(argv) {
	const alone = argv[0] === '--alone';
	if (!alone && !enter.open())
		throw new Error('zygote: not started by the broker');
	const kernel = new Kernel();
	await rehearse(kernel);
	let child;
	if (alone) {
		child = enter.alone(argv[1], 3);
		if (!child.language)
			follow(child.pid);
	} else {
		child = selftest.run(enter);
		if (!child)
			child = enter.serve();
		if (!child)
			process.reallyExit(0);
	}
	await begin.run(kernel, enter, child, 3);
}

main(process.argv.slice(2)).catch((error) => {
	fs.writeSync(2, `${error.stack}\n`);
	process.reallyExit(1);
});
