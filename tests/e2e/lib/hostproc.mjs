/**
 * The host's processes, as root sees them in /proc.
 */
import { readdirSync, readFileSync } from 'node:fs';

function cmdlineOf(pid) {
	try {
		return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
			.split('\0').slice(0, -1);
	} catch {
		return [];
	}
}

/** Pids whose program is named ${program} and that ${match} their words. */
export function findProcesses(program, match = () => true) {
	return readdirSync('/proc')
		.filter((name) => /^\d+$/.test(name))
		.map(Number)
		.filter((pid) => {
			const words = cmdlineOf(pid);
			return words[0]?.split('/').at(-1) === program &&
				match(words);
		});
}

export function parentOf(pid) {
	try {
		const status = readFileSync(`/proc/${pid}/status`, 'utf8');

		return Number(/^PPid:\t(\d+)$/m.exec(status)[1]);
	} catch {
		return 0;
	}
}

/** Those of findProcesses() that no other of them is the parent of: a broker
 * without the children that work for it under its name. */
export function findPrograms(program, match) {
	const pids = findProcesses(program, match);

	return pids.filter((pid) => !pids.includes(parentOf(pid)));
}

export const keepersOf = (sandboxId) =>
	findProcesses('warren-keeper',
		(words) => words.some((word) => word.includes(sandboxId)));

function cgroupsOf(pid) {
	try {
		return readFileSync(`/proc/${pid}/cgroup`, 'utf8');
	} catch {
		return '';
	}
}

/** PID 1 of a sandbox, as the host numbers it. */
export const initsOf = (sandboxId) => findProcesses('warren-init')
	.filter((pid) => cgroupsOf(pid).includes(sandboxId));

export function isAlive(pid) {
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		return error.code === 'EPERM';
	}
}
