/**
 * tests/bench/run [--n N] [--only TEXT] [--ipykernel | --pool] [--json]
 * Measures every row beside its floor, one after the other N times over, and
 * prints one table.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import * as server from '../e2e/lib/server.mjs';
import { DirectProxy, SpawnFloor } from './floors.mjs';
import { ipykernelRows, poolRows, rows } from './rows.mjs';
import { Service } from './service.mjs';

const LEAST = 50;
const WARM_UP = 3;

/** What the rows share. */
class Bench {
	#direct;

	constructor(stack, dir) {
		this.dir = dir;
		this.service = new Service(stack);
		this.spawnFloor = SpawnFloor.build(dir);
	}

	direct() {
		this.#direct ??= DirectProxy.start(this.dir);
		return this.#direct;
	}

	async close() {
		this.service.close();
		(await this.#direct)?.close();
	}
}

export function quantile(values, q) {
	const sorted = [...values].sort((a, b) => a - b);

	return sorted[Math.min(sorted.length - 1,
		Math.floor(q * sorted.length))];
}

/** One round takes one measurement of each row and of each floor. */
async function measure(opened, n) {
	for (let i = -WARM_UP; i < n; i++) {
		for (const { row, Row, ours, floor } of opened) {
			if (i % (Row.every ?? 1) !== 0)
				continue;
			const below = await row.floor();
			const above = await row.ours();
			if (i < 0)
				continue;
			floor.push(below);
			ours.push(above);
		}
		if (process.stderr.isTTY)
			process.stderr.write(`\rround ${i + 1} of ${n} `);
	}
	if (process.stderr.isTTY)
		process.stderr.write('\r\x1b[K');
}

/** A stack with spare kernels; without --pool any will do. */
async function findStack(pool) {
	if (!pool || process.env.WARREN_URL)
		return server.find();
	const data = await server.makeDataDir();

	await writeFile(path.join(data, 'warren.ini'),
		'[pool]\npython = 1\njavascript = 1\n');
	return { own: true,
		...await server.start({ port: await server.freePort(), data }) };
}

async function openRows(bench, all, only) {
	const opened = [];

	for (const Row of all.filter(({ label }) => label.includes(only))) {
		const row = new Row(bench);
		await row.open();
		opened.push({ row, Row, ours: [], floor: [] });
	}
	return opened;
}

function summary({ Row, ours, floor }) {
	const p50 = quantile(ours, 0.5);
	const floor50 = quantile(floor, 0.5);

	return {
		row: Row.label,
		p50,
		p95: quantile(ours, 0.95),
		p99: quantile(ours, 0.99),
		floor50,
		ratio: p50 / floor50,
		target: Row.target ?? (Row.ratio && Row.ratio * floor50),
		floor: Row.floorLabel,
	};
}

function table(lines) {
	const ms = (value) => value === undefined ? '' : value.toFixed(2);
	const cells = [
		['row', 'p50 ms', 'p95 ms', 'p99 ms', 'floor ms', 'ratio', 'target',
			'floor is'],
		...lines.map((line) => [line.row, ms(line.p50), ms(line.p95),
			ms(line.p99), ms(line.floor50), ms(line.ratio), ms(line.target),
			line.floor]),
	];
	const widths = cells[0].map((_, i) =>
		Math.max(...cells.map((row) => row[i].length)));
	const isText = (i) => i === 0 || i === widths.length - 1;

	return cells.map((row) => row.map((cell, i) => isText(i)
		? cell.padEnd(widths[i])
		: cell.padStart(widths[i])).join('  ').trimEnd()).join('\n');
}

function options(argv) {
	const { values } = parseArgs({
		args: argv,
		options: {
			n: { type: 'string', default: String(LEAST) },
			only: { type: 'string', default: '' },
			ipykernel: { type: 'boolean', default: false },
			pool: { type: 'boolean', default: false },
			json: { type: 'boolean', default: false },
		},
	});
	const n = Number(values.n);

	if (!Number.isInteger(n) || n < 1)
		throw new Error('--n takes a number of rounds');
	return { ...values, n };
}

export async function main(argv) {
	const { n, only, json, ipykernel, pool } = options(argv);
	const stack = await findStack(pool);
	const all = ipykernel ? ipykernelRows : pool ? poolRows : rows;
	/* Floors work on the disk that sandboxes are on. */
	const dir = await mkdtemp(path.join(stack.data === undefined
		? os.tmpdir() : path.dirname(stack.data), 'warren-bench-'));
	const bench = new Bench(stack, dir);
	let opened = [];

	try {
		opened = await openRows(bench, all, only);
		await measure(opened, n);
		const lines = opened.map(summary);
		console.log(json ? JSON.stringify(lines) : table(lines));
		if (!json && n < LEAST)
			console.log(`${n} rounds only: too few to compare`);
	} finally {
		for (const { row } of opened)
			await row.close().catch(console.error);
		await bench.close();
		await rm(dir, { recursive: true, force: true });
		if (stack.own)
			await server.stopAndRemove(stack.data);
	}
}
