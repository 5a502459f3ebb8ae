/**
 * tests/bench/load [--seconds N] [--session] [--command TEXT] [--json]
 * How many commands a second 1, 8 and 64 clients get out of one sandbox, and
 * which processes the time goes to. Needs root on the stack's machine.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { findProcesses, findPrograms, initsOf, keepersOf, parentOf } from
	'../e2e/lib/hostproc.mjs';
import * as server from '../e2e/lib/server.mjs';
import { quantile } from './bench.mjs';
import { Connection } from './connection.mjs';

const CLIENTS = [1, 8, 64];
const WARM_UP = 50;
const NONE = '__DISABLE_SESSION__';

/** Ticks of a process: its own, and those of children that it reaped. */
function ticksOf(pid) {
	const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
	const [user, system, childUser, childSystem] = stat
		.slice(stat.lastIndexOf(')') + 2).split(' ').slice(11, 15)
		.map(Number);

	return { own: user + system, children: childUser + childSystem };
}

/** `{group: pids}` of the stack on ${data}, and of the sandbox ${id}. */
function groupsOf(data, id) {
	const ours = (words) => words.includes(data);
	const nginx = execFileSync('pgrep', ['-f', 'nginx: worker process'],
		{ encoding: 'utf8' }).trim().split('\n').map(Number)
		.filter((pid) => readFileSync(`/proc/${parentOf(pid)}/cmdline`,
			'utf8').includes(`${data}/nginx`));

	return {
		nginx,
		worker: findProcesses('warren-fcgi', ours),
		recorder: findProcesses('warren-recorder', ours),
		broker: findPrograms('warrend', ours),
		keeper: keepersOf(id),
		init: initsOf(id),
	};
}

function ticksOfAll(groups) {
	const ticks = {};

	for (const [name, pids] of Object.entries(groups)) {
		const all = pids.map(ticksOf);
		ticks[name] = all.reduce((sum, { own }) => sum + own, 0);
		if (name === 'init')
			ticks.commands = all.reduce(
				(sum, { children }) => sum + children, 0);
	}
	return ticks;
}

class Load {
	#connection;
	#path;
	#body;

	constructor(stack, body) {
		this.#connection = new Connection(stack.url,
			{ Authorization: `Bearer ${stack.apiKey}` });
		this.#path = `/v1/sandboxes/load-${process.pid}`;
		this.#body = body;
	}

	async call() {
		const start = performance.now();

		await this.#connection.send('POST', `${this.#path}/api/execute`,
			this.#body);
		return performance.now() - start;
	}

	async id() {
		return JSON.parse(await this.#connection.send('GET', this.#path))
			.id;
	}

	async crowd(clients, seconds) {
		const end = performance.now() + seconds * 1000;
		const took = [];
		const one = async () => {
			while (performance.now() < end)
				took.push(await this.call());
		};

		await Promise.all(Array.from({ length: clients }, one));
		return took;
	}

	async close() {
		await this.#connection.send('DELETE', this.#path);
		this.#connection.close();
	}
}

const TICK_US = 1e6 / Number(execFileSync('getconf', ['CLK_TCK']));

async function measure(load, groups, clients, seconds) {
	const before = ticksOfAll(groups);
	const client = process.cpuUsage();
	const start = performance.now();
	const took = await load.crowd(clients, seconds);
	const wall = (performance.now() - start) / 1000;
	const { user, system } = process.cpuUsage(client);
	const line = {
		clients,
		rate: took.length / wall,
		p50: quantile(took, 0.5),
		p99: quantile(took, 0.99),
		cpu: {},
	};

	for (const [name, after] of Object.entries(ticksOfAll(groups)))
		line.cpu[name] = (after - before[name]) * TICK_US / took.length;
	line.total = Object.values(line.cpu).reduce((sum, us) => sum + us, 0);
	line.client = (user + system) / took.length;
	return line;
}

function print(line) {
	const shares = Object.entries(line.cpu).map(([name, us]) =>
		`${name} ${Math.round(us)} (${
			Math.round(us / line.total * 100)} %)`);

	console.log(`${String(line.clients).padStart(2)} clients: ` +
		`${Math.round(line.rate)} a second, p50 ${line.p50.toFixed(2)} ` +
		`ms, p99 ${line.p99.toFixed(2)} ms; CPU of each, in us: ` +
		`${Math.round(line.total)} = ${shares.join(' + ')}; the client ` +
		`takes ${Math.round(line.client)} more`);
}

export async function main(argv) {
	const { values } = parseArgs({
		args: argv,
		options: {
			seconds: { type: 'string', default: '5' },
			command: { type: 'string', default: 'true' },
			session: { type: 'boolean', default: false },
			json: { type: 'boolean', default: false },
		},
	});
	const stack = await server.find();
	const load = new Load(stack, { command: values.command,
		sessionId: values.session ? 'load' : NONE });

	try {
		for (let i = 0; i < WARM_UP; i++)
			await load.call();
		const groups = groupsOf(stack.data, await load.id());
		for (const clients of CLIENTS) {
			const line = await measure(load, groups, clients,
				Number(values.seconds));
			if (values.json)
				console.log(JSON.stringify(line));
			else
				print(line);
		}
	} finally {
		await load.close();
		if (stack.own)
			await server.stopAndRemove(stack.data);
	}
}
