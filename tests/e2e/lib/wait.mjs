/**
 * Waits. Each has a deadline, and none guesses how long a thing takes.
 */
import { setTimeout as pause } from 'node:timers/promises';

const STEP_MS = 20;

export { pause };

/** Rejects when ${promise} is not settled within ${ms}. */
export async function within(ms, what, promise) {
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
export async function until(ms, what, probe) {
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
