/** What the machine's counters say of a sandbox's memory. */
import { readFileSync } from 'node:fs';
import path from 'node:path';

/** Bytes charged to a sandbox of the stack with that data directory. */
export function charged(data, id) {
	const run = readFileSync(path.join(data, 'run-dir'), 'utf8').trim();
	const instance = path.basename(run);

	for (const file of [
		`/sys/fs/cgroup/memory/${instance}/${id}/memory.usage_in_bytes`,
		`/sys/fs/cgroup/${instance}/${id}/memory.current`,
	]) {
		try {
			return Number(readFileSync(file, 'utf8'));
		} catch (error) {
			if (error.code !== 'ENOENT')
				throw error;
		}
	}
	throw new Error(`no memory cgroup of ${id}`);
}
