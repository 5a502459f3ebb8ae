/**
 * What every test file starts with: a running stack, sandboxes that are
 * removed after their test, raw calls with the key, a second tenant.
 *
 * The stack is the one that WARREN_URL, WARREN_API_KEY and WARREN_DATA name,
 * or the one of the file WARREN_E2E_STACK (the fixture under ctest), or one
 * of this test file's own, which is stopped and removed at the end.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, before } from 'node:test';

import { getSandbox } from '../../clients/js/index.js';
import { fetchRaw } from './lib/http.mjs';
import * as server from './lib/server.mjs';

export { fetchRaw, open } from './lib/http.mjs';
export { pause, timed, until, within } from './lib/wait.mjs';

class Stack {
	/** Filled before the first test. */
	url;
	apiKey;
	data;

	async open() {
		Object.assign(this, await server.find());
	}

	async close() {
		if (this.own)
			await server.stopAndRemove(this.data);
	}

	/** A sandbox object under a name of its own; removed after ${t}. */
	sandbox(t, { name = uniqueName(), apiKey = this.apiKey } = {}) {
		const sandbox = getSandbox(name, { url: this.url, apiKey });

		t.after(() => sandbox.destroy().catch((error) => {
			if (error.httpStatus !== 404)
				throw error;
		}));
		return sandbox;
	}

	/** A raw call: `{status, headers, text, json}`. */
	async call(method, path, body, options = {}) {
		const raw = body === undefined || typeof body === 'string' ||
			body instanceof Uint8Array;
		const answer = await fetchRaw(this.url + path, {
			method,
			body: raw ? body : JSON.stringify(body),
			...options,
			headers: {
				Authorization: `Bearer ${this.apiKey}`,
				'Content-Type': 'application/json',
				...options.headers,
			},
		});

		return { ...answer, json: parse(answer.text) };
	}

	warren(...args) {
		return server.warren(this.data, ...args);
	}

	/** A new tenant's key. */
	async newTenant(name = uniqueName()) {
		await this.warren('tenant', 'add', name);
		const text = await this.warren('key', 'add', name);

		return /wrn_[\w-]+/.exec(text)[0];
	}

	/** Why a test that needs the operator's command cannot run. */
	get noOperator() {
		return this.data === undefined &&
			'needs the data directory (WARREN_DATA)';
	}
}

function parse(text) {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

export const uniqueName = () => `t-${randomBytes(6).toString('hex')}`;

/** The stack for all tests of the calling file. */
export function useStack() {
	const stack = new Stack();

	before(() => stack.open());
	after(() => stack.close());
	return stack;
}

/** The text of a program that tests put into a sandbox. */
export function guest(name) {
	return readFile(new URL(`guest/${name}`, import.meta.url), 'utf8');
}
