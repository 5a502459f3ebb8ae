/**
 * tests/bench/streams [--only TEXT] [--seconds N] [--streams N] [--json]
 * What many lines and many readers cost. Needs root on the stack's machine
 * and the operator's command.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { getSandbox } from '../../clients/js/index.js';
import { findProcesses, keepersOf } from '../e2e/lib/hostproc.mjs';
import { open } from '../e2e/lib/http.mjs';
import { until } from '../e2e/lib/wait.mjs';
import * as server from '../e2e/lib/server.mjs';
import { startLines, storedLines, writeLines } from './lines.mjs';
import { neighbour } from './neighbour.mjs';

const MIB = 1 << 20;
const CLOCK_HZ = 100;
/* Threads that served the burst of openings leave. */
const SETTLE_MS = 15_000;

export function quantile(values, q) {
	const sorted = [...values].sort((a, b) => a - b);

	return sorted[Math.min(sorted.length - 1,
		Math.floor(q * sorted.length))];
}

/** Programs of the stack, and what they use. */
class Watch {
	constructor(pids) {
		this.pids = pids;
		this.from = { ms: performance.now(), cpu: this.cpuMs() };
	}

	cpuMs() {
		return this.pids.map((pid) => {
			const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
				.split(') ')[1].split(' ');
			return (Number(fields[11]) + Number(fields[12])) *
				1000 / CLOCK_HZ;
		}).reduce((sum, n) => sum + n, 0);
	}

	/** Percent of a core since it began. */
	percent() {
		return 100 * (this.cpuMs() - this.from.cpu) /
			(performance.now() - this.from.ms);
	}

	memory() {
		return this.pids.map((pid) => Number(/^Pss:\s+(\d+)/m.exec(
			readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))[1]) *
			1024).reduce((sum, n) => sum + n, 0) / MIB;
	}
}

class Load {
	constructor(stack, values) {
		this.stack = stack;
		this.seconds = Number(values.seconds);
		this.streams = Number(values.streams);
	}

	programs(name) {
		return findProcesses(name,
			(words) => words.includes(this.stack.data));
	}

	async sandbox(name) {
		const sandbox = getSandbox(`load-${name}-${process.pid}`,
			{ url: this.stack.url, apiKey: this.stack.apiKey });

		await sandbox.exec('true');
		return sandbox;
	}

	read(path) {
		return open(this.stack.url + path, {
			headers: { Authorization: `Bearer ${this.stack.apiKey}` },
		});
	}

	async write(sandbox, name) {
		await sandbox.writeFile(`/tmp/${name}`, readFileSync(
			new URL(`guest/${name}`, import.meta.url), 'utf8'));
	}

	sql(text) {
		return server.warren(this.stack.data, 'sql', text);
	}
}

/* ---- from a write in the sandbox to a reader ---- */

async function delay(load) {
	const sandbox = await load.sandbox('delay');

	try {
		await load.write(sandbox, 'clock.py');
		const started = await sandbox.startProcess(
			'exec python3 -S /tmp/clock.py 500 0.01');
		const response = await load.read(`/v1/sandboxes/` +
			`${sandbox.name}/api/process/${started.id}/stream`);
		const delays = [];
		response.on('data', (chunk) => {
			const now = process.hrtime.bigint();
			for (const [, at] of String(chunk)
				.matchAll(/"data":"(\d+)\\n"/g))
				delays.push(Number(now - BigInt(at)) / 1e6);
		});
		await new Promise((resolve) => response.on('end', resolve));
		return [{ row: 'stream delay, p50 (ms)',
			value: quantile(delays, 0.5), target: 0.5 },
		{ row: '  p95', value: quantile(delays, 0.95) },
		{ row: '  p99', value: quantile(delays, 0.99) }];
	} finally {
		await sandbox.destroy();
	}
}

/* ---- readers of what prints nothing ---- */

async function idle(load) {
	const sandbox = await load.sandbox('idle');
	const quiet = await sandbox.startProcess('exec sleep 600');
	const { id } = await sandbox.getInfo();
	const path = `/v1/sandboxes/${sandbox.name}/api/process/${quiet.id}/stream`;
	const pids = () => [...load.programs('warren-fcgi'), ...keepersOf(id)];
	const readers = [];

	try {
		const before = new Watch(pids()).memory();
		for (let i = 0; i < load.streams; i += 50)
			readers.push(...await Promise.all(Array.from(
				{ length: 50 }, () => load.read(path))));
		await pause(SETTLE_MS);
		const watch = new Watch(pids());
		await pause(10_000);
		return [{ row: `${load.streams} idle streams (MiB)`,
			value: watch.memory() - before,
			target: 25 * load.streams / 1000 },
		{ row: '  their cpu (% of a core)', value: watch.percent(),
			target: 3 }];
	} finally {
		for (const response of readers) {
			response.on('error', () => {});
			response.destroy();
		}
		await sandbox.destroy();
	}
}

/* ---- lines into the database ---- */

async function logs(load) {
	const sandbox = await load.sandbox('logs');
	const { id } = await sandbox.getInfo();

	try {
		await writeLines(sandbox);
		const recorder = new Watch(load.programs('warren-recorder'));
		const keeper = new Watch(keepersOf(id));
		const workers = new Watch(load.programs('warren-fcgi'));
		const begin = performance.now();
		const started = await startLines(sandbox, 10, 10_000,
			load.seconds);
		for (const process of started)
			await process.waitForExit((load.seconds + 60) * 1000);
		const seconds = (performance.now() - begin) / 1000;
		/* The rows of the ends come with the last lines. */
		await until(30_000, 'the ends', async () => !/[1-9]/.test(
			(await load.sql('SELECT count(*) AS n FROM processes ' +
				'WHERE ended_at = 0 AND sandbox_id = ' +
				`'${id}'`)).split('\n')[1]));
		const late = (await load.sql('SELECT data FROM process_logs ' +
			`WHERE stream = 'stderr' AND sandbox_id = '${id}'`))
			.match(/-?\d+\.\d+/g).map(Number);
		const found = await storedLines(load.stack.data, id,
			10_000 * load.seconds);
		const wrong = found.flatMap(({ name, wrong: texts }) =>
			texts.map((text) => `${name}: ${text}`));
		const sum = (key) => found.reduce((n, one) => n + one[key], 0);
		const lines = sum('lines');

		if (found.length !== started.length)
			wrong.push(`${found.length} logs`);
		for (const text of wrong)
			console.error(text);
		return [{ row: `lines a second for ${load.seconds} s, stored`,
			value: lines / load.seconds, target: 100_000, more: true },
		{ row: '  missing, doubled or out of order',
			value: wrong.length, target: 0 },
		{ row: '  lines in a chunk', value: lines / sum('chunks') },
		{ row: '  writers came late by (s, the most)',
			value: Math.max(...late) },
		{ row: '  all took (s)', value: seconds },
		{ row: '  recorder (% of a core)', value: recorder.percent() },
		{ row: '  recorder (MiB)', value: recorder.memory() },
		{ row: '  keeper (% of a core)', value: keeper.percent() },
		{ row: '  keeper (MiB)', value: keeper.memory() },
		{ row: '  workers (% of a core)', value: workers.percent() }];
	} finally {
		await sandbox.destroy();
	}
}

/* ---- a neighbour that floods ---- */

async function flood(load) {
	const made = [];
	const sandbox = () => {
		made.push(getSandbox(`load-flood-${made.length}-${process.pid}`,
			{ url: load.stack.url, apiKey: load.stack.apiKey }));
		return made.at(-1);
	};

	try {
		const { calm, flooded } = await neighbour(load.stack,
			{ sandbox, samples: 300 });

		return [{ row: 'write to commit, alone (ms)', value: calm },
			{ row: '  beside a flood in another sandbox (ms)',
				value: flooded },
			{ row: '  ratio', value: flooded / calm, target: 2 }];
	} finally {
		await Promise.all(made.map((one) => one.destroy()));
	}
}

const parts = { delay, idle, flood, logs };

function table(rows) {
	const number = (v) => v === undefined ? '' : v.toFixed(2);
	const verdict = ({ value, target, more }) => target === undefined ? ''
		: (more ? value >= target : value <= target) ? 'met' : 'missed';
	const cells = [['row', 'value', 'target', ''], ...rows.map((r) =>
		[r.row, number(r.value), number(r.target), verdict(r)])];
	const widths = cells[0].map((_, i) =>
		Math.max(...cells.map((row) => row[i].length)));

	return cells.map((row) => row.map((cell, i) => i === 0
		? cell.padEnd(widths[i])
		: cell.padStart(widths[i])).join('  ').trimEnd()).join('\n');
}

export async function main(argv) {
	const { values } = parseArgs({
		args: argv,
		options: {
			only: { type: 'string', default: '' },
			seconds: { type: 'string', default: '30' },
			streams: { type: 'string', default: '1000' },
			json: { type: 'boolean', default: false },
		},
	});
	const stack = await server.find();
	const rows = [];

	try {
		if (stack.data === undefined || process.getuid() !== 0)
			throw new Error('needs root and the data directory');
		const load = new Load(stack, values);
		for (const name of Object.keys(parts))
			if (name.includes(values.only))
				rows.push(...await parts[name](load));
		console.log(values.json ? JSON.stringify(rows) : table(rows));
	} finally {
		if (stack.own)
			await server.stopAndRemove(stack.data);
	}
}
