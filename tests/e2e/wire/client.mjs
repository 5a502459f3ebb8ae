/**
 * What every test of this folder starts with: unmodified clients, each of a
 * sandbox of its own, and readers of their streams.
 */
import { parseSSEStream, SandboxClient } from '@cloudflare/sandbox';

import { uniqueName, useStack } from '../stack.mjs';

export { pause, timed, until, within } from '../lib/wait.mjs';

export const SESSIONLESS = '__DISABLE_SESSION__';
export const limit = { timeout: 120_000 };

/* How clients of 0.12 are told endings that we tell otherwise. */
export const COMPAT = { 'X-Warren-Compat': '0.12' };

/** The stack, with clients: `wire.client(t)`. */
export function useWire() {
	const stack = useStack();

	/** A client of a new sandbox that is removed after ${t}. */
	stack.client = (t, { name = uniqueName(), headers = {} } = {}) => {
		stack.sandbox(t, { name });
		return new SandboxClient({
			baseUrl: `${stack.url}/v1/sandboxes/${name}`,
			defaultHeaders: {
				Authorization: `Bearer ${stack.apiKey}`,
				...headers,
			},
		});
	};
	/** Why a test of a route cannot run; false when the route is there. */
	stack.lacks = async (method, path) => {
		const { status, json } = await stack.call(method,
			`/v1/sandboxes/${uniqueName()}${path}`,
			method === 'GET' ? undefined : {});

		return status === 404 && json?.code === 'NOT_FOUND' &&
			`${method} ${path} is not served yet`;
	};
	return stack;
}

/** All events of a stream. */
export async function all(stream) {
	const events = [];

	for await (const event of parseSSEStream(stream))
		events.push(event);
	return events;
}

/** The events up to the first that ${wanted} accepts; then it is left. */
export async function upTo(stream, wanted) {
	const events = [];

	for await (const event of parseSSEStream(stream)) {
		events.push(event);
		if (wanted(event))
			return events;
	}
	throw new Error(`the stream ended early: ${JSON.stringify(events)}`);
}

/** What the events of a type carry, joined. */
export function textOf(events, type, field = 'data') {
	return events.filter((event) => event.type === type)
		.map((event) => event[field]).join('');
}

/** Waits for a line in a process's log. */
export async function logged(client, id, text) {
	let seen = '';

	await upTo(await client.processes.streamProcessLogs(id), (event) => {
		seen += event.type === 'stdout' || event.type === 'stderr' ?
			event.data : '';
		return seen.includes(text);
	});
}

/** Whether a program whose command line has ${text} runs in the sandbox. */
export async function runs(client, text) {
	const { stdout } = await client.commands.execute(
		'cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " "',
		SESSIONLESS);

	return stdout.includes(text);
}
