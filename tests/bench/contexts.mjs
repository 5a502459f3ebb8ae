/**
 * tests/bench/contexts [--n N]
 * What contexts cost together: N (100) made and run at once, and what an idle
 * one of each language is charged with. Needs root on the stack's machine.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { timed } from '../e2e/lib/wait.mjs';
import * as server from '../e2e/lib/server.mjs';
import { Service } from './service.mjs';

const MIB = 1 << 20;
const CLIENTS = 16;
const BOXES = 4; /* a sandbox takes 64 contexts */
const TURNS = 3;
const IDLE = 10;
const FIRST = { python: '1 + 1', javascript: '1 + 1', typescript: '1 + 1',
	bash: 'echo 2' };

/** Bytes charged to a sandbox, by cgroup v1 or v2. */
function charged(stack, id) {
	const instance = path.basename(readFileSync(
		path.join(stack.data, 'run-dir'), 'utf8').trim());
	const files = [
		`/sys/fs/cgroup/memory/${instance}/${id}/memory.usage_in_bytes`,
		`/sys/fs/cgroup/${instance}/${id}/memory.current`,
	];

	for (const file of files) {
		try {
			return Number(readFileSync(file, 'utf8'));
		} catch (error) {
			if (error.code !== 'ENOENT')
				throw error;
		}
	}
	throw new Error(`no memory cgroup of ${id}`);
}

async function burst(service, n) {
	const boxes = Array.from({ length: BOXES }, () => service.sandbox());
	let left = n;
	const client = async (_, at) => {
		const box = boxes[at % BOXES];

		while (left-- > 0)
			await box.run(await box.newContext('python'),
				'import numpy as np; int(np.arange(3).sum())',
				/"text":\s*"3"/);
	};

	await Promise.all(boxes.map((box) => box.exec('true')));
	const { ms } = await timed(() => Promise.all(
		Array.from({ length: CLIENTS }, client)));
	await Promise.all(boxes.map((box) => box.destroy()));
	return ms;
}

async function idle(stack, service, language, run) {
	const box = service.sandbox();

	try {
		const first = await box.newContext(language);
		await box.run(first, FIRST[language], /2/);
		const { id } = await box.status();
		const before = charged(stack, id);
		for (let i = 0; i < IDLE; i++) {
			const context = await box.newContext(language);
			if (run)
				await box.run(context, FIRST[language], /2/);
		}
		return (charged(stack, id) - before) / IDLE / MIB;
	} finally {
		await box.destroy();
	}
}

export async function main(argv) {
	const { values } = parseArgs({ args: argv,
		options: { n: { type: 'string', default: '100' } } });
	const stack = await server.find();
	const service = new Service(stack);
	const n = Number(values.n);

	try {
		const all = [];
		for (let turn = 0; turn < TURNS; turn++)
			all.push(await burst(service, n));
		console.log(`${n} Python contexts made and run (import numpy) by ` +
			`${CLIENTS} clients: ${Math.min(...all).toFixed(0)} ms at best ` +
			`of ${TURNS} (target 1500 for 100)`);
		for (const language of Object.keys(FIRST))
			console.log(`idle ${language} context: ` +
				`${(await idle(stack, service, language, false))
					.toFixed(1)} MiB charged (target 6), after a run ` +
				`${(await idle(stack, service, language, true))
					.toFixed(1)} MiB`);
	} finally {
		service.close();
		if (stack.own)
			await server.stopAndRemove(stack.data);
	}
}
