/**
 * tests/bench/engine [--n N] [--json]
 * The engine without HTTP: broker and keeper asked directly by engine.c, and
 * bwrap in the same rounds. Needs root on the stack's machine.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

import * as server from '../e2e/lib/server.mjs';

const run = promisify(execFile);
const KIB = 1024;
const BURST = 100;
/* On the machine for which 200 a second and 200 ms were set. */
const TARGETS_BWRAP_MS = 3.9;

function build(dir) {
	const program = path.join(dir, 'engine');
	const base = readdirSync(path.join(server.ROOT, 'base'))
		.filter((name) => name.endsWith('.c'))
		.map((name) => path.join(server.ROOT, 'base', name));

	execFileSync('cc', ['-std=gnu17', '-O2', '-D_GNU_SOURCE',
		`-I${server.ROOT}`, '-o', program,
		...['engine.c', 'engine_bwrap.c', 'engine_use.c'].map((name) =>
			fileURLToPath(new URL(name, import.meta.url))), ...base,
		'-lsodium', '-linih', '-lpthread']);
	return program;
}

function median(values) {
	return [...values].sort((a, b) => a - b)[values.length >> 1];
}

class Engine {
	constructor(program, runDir) {
		this.program = program;
		this.runDir = runDir;
	}

	/** The numbers of each line that the program prints. */
	async ask(what, n) {
		const { stdout } = await run(this.program,
			[this.runDir, what, String(n)]);

		return stdout.trim().split('\n')
			.map((line) => line.split(' ').map(Number));
	}

	/** The median of each column. */
	async medians(what, n) {
		const lines = await this.ask(what, n);

		return lines[0].map((_, i) => median(lines.map((l) => l[i])));
	}

	async rows(n) {
		const [first, create, bwrap] = await this.medians('first', n);
		const [rate, made, ended, cpu, bwrapRate] =
			await this.medians('churn', BURST);
		const [cgroup, init, keeper, kernel] =
			await this.medians('idle', BURST);
		const [kill, bwrapKill] = await this.medians('kill', BURST);

		return [
			{ row: 'create + first `true`, engine only (ms)',
				value: first / 1e3, floor: bwrap / 1e3,
				target: 0.8 * bwrap / 1e3 },
			{ row: '  of which create (ms)', value: create / 1e3 },
			{ row: 'create + destroy, 16 at a time (per second)',
				value: rate, floor: bwrapRate, target: 200,
				more: true },
			{ row: '  processor time of both, without the kernel\'s own (ms)',
				value: cpu },
			{ row: '  a client waits for its create (ms)', value: made },
			{ row: '  and for its destroy (ms)', value: ended },
			{ row: 'idle sandbox, all counted (KiB)',
				value: (cgroup + init + keeper + kernel) / KIB,
				target: 1024 },
			{ row: '  its cgroup (KiB)', value: cgroup / KIB },
			{ row: '  its init (KiB)', value: init / KIB },
			{ row: '  its keeper (KiB)', value: keeper / KIB },
			{ row: '  kernel, the whole machine\'s growth (KiB)',
				value: kernel / KIB },
			{ row: `${BURST} killed at once (ms)`, value: kill,
				floor: bwrapKill, target: 200 },
		];
	}
}

function table(rows) {
	const number = (v) => v === undefined ? '' : v.toFixed(1);
	const cells = [['row', 'value', 'bwrap', 'ratio', 'target', ''],
		...rows.map((r) => [r.row, number(r.value), number(r.floor),
			r.floor === undefined ? ''
				: (r.value / r.floor).toFixed(2),
			number(r.target),
			r.target === undefined ? ''
				: (r.more ? r.value >= r.target
					: r.value <= r.target) ? 'met'
					: 'missed'])];
	const widths = cells[0].map((_, i) =>
		Math.max(...cells.map((row) => row[i].length)));

	return cells.map((row) => row.map((cell, i) => i === 0
		? cell.padEnd(widths[i])
		: cell.padStart(widths[i])).join('  ').trimEnd()).join('\n');
}

/** What the absolute targets are worth here: machines differ. */
function scaled(rows) {
	const by = (text) => rows.find((r) => r.row.includes(text));
	const bwrap = by('first `true`').floor;
	const times = bwrap / TARGETS_BWRAP_MS;

	return `bwrap takes ${bwrap.toFixed(1)} ms here, ${TARGETS_BWRAP_MS
	} where the targets were set. By that: ${
		(by('16 at a time').value * times).toFixed(0)
	} created and destroyed a second, 100 killed in ${
		(by('killed at once').value / times).toFixed(0)} ms.`;
}

export async function main(argv) {
	const { values } = parseArgs({
		args: argv,
		options: {
			n: { type: 'string', default: '60' },
			json: { type: 'boolean', default: false },
		},
	});
	const stack = await server.find();
	const dir = mkdtempSync(path.join(os.tmpdir(), 'warren-engine-'));

	try {
		if (stack.data === undefined)
			throw new Error('needs the data directory (WARREN_DATA)');
		const runDir = readFileSync(
			path.join(stack.data, 'run-dir'), 'utf8').trim();
		const rows = await new Engine(build(dir), runDir)
			.rows(Number(values.n));

		console.log(values.json ? JSON.stringify(rows)
			: `${table(rows)}\n\n${scaled(rows)}`);
	} finally {
		rmSync(dir, { recursive: true, force: true });
		if (stack.own)
			await server.stopAndRemove(stack.data);
	}
}
