/**
 * Waits. Each has a deadline, and none guesses how long a thing takes.
 *
 * A deadline ends a test that has failed; it is no claim of speed. What takes
 * 20 ms on an idle machine may take seconds on a busy one, so none is shorter
 * than LEAST_MS. A claim of speed compares two things that the same machine
 * did at the same time, or names what would have been waited for in its place.
 */
import { setTimeout as pause } from 'node:timers/promises';

const STEP_MS = 20;
const LEAST_MS = 30_000;

export { pause };

/** Rejects when ${promise} is not settled within ${wanted} ms. */
export async function within(wanted, what, promise) {
	const ms = Math.max(wanted, LEAST_MS);
	const stop = new AbortController();
	const late = pause(ms, undefined, { signal: stop.signal }).then(() => {
		throw new Error(`${what}: not within ${ms} ms`);
	});

	try {
		return await Promise.race([promise, late]);
	} finally {
		stop.abort();
		late.catch(() => {});
	}
}

/** Asks ${probe} until it answers something true. */
export async function until(wanted, what, probe) {
	const ms = Math.max(wanted, LEAST_MS);
	const end = performance.now() + ms;

	for (;;) {
		const found = await probe();
		if (found)
			return found;
		if (performance.now() > end)
			throw new Error(`${what}: not within ${ms} ms`);
		await pause(STEP_MS);
	}
}

/** Milliseconds that ${call} takes, and what it gives. */
export async function timed(call) {
	const start = performance.now();
	const value = await call();

	return { ms: performance.now() - start, value };
}
