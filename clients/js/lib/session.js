/**
 * Sessions: shells whose state stays from call to call.
 */
import { Calls } from './calls.js';

/* Routes that know what a session is. */
const IN_SESSION = new RegExp('^/api/(?:execute|process/start|read|write|' +
	'delete|rename|move|mkdir|list-files|exists|contexts$|git/|watch)');

/** ${api} for calls in session ${sessionId}. */
function within(api, sessionId) {
	const bodyOf = (route, body) => IN_SESSION.test(route) && body
		? { sessionId, ...body }
		: body;

	return {
		json: (method, route, body, ...rest) =>
			api.json(method, route, bodyOf(route, body), ...rest),
		stream: (method, route, body, ...rest) =>
			api.stream(method, route, bodyOf(route, body), ...rest),
	};
}

export class Session extends Calls {
	#api;

	constructor(api, contexts, id) {
		super(within(api, id), contexts);
		this.#api = api;
		this.id = id;
	}

	/** `{id, cwd, busy, createdAt, commandTimeoutMs?}` as of now. */
	getInfo() {
		return infoOf(this.#api, this.id);
	}

	/** Ends it and kills the processes that it started. */
	delete() {
		return deleteSession(this.#api, this.id);
	}
}

const pathOf = (id) => `/api/session/${encodeURIComponent(id)}`;

async function infoOf(api, id) {
	return (await api.json('GET', pathOf(id))).session;
}

export async function createSession(api, contexts, options = {}) {
	const { data } = await api.json('POST', '/api/session/create', {
		id: options.id,
		env: options.env,
		cwd: options.cwd,
		commandTimeoutMs: options.commandTimeoutMs,
	}, {
		signal: options.signal,
		idempotencyKey: options.idempotencyKey,
	});

	return new Session(api, contexts, data.id);
}

/** The session; throws SESSION_NOT_FOUND when there is none. */
export async function getSession(api, contexts, id) {
	await infoOf(api, id);
	return new Session(api, contexts, id);
}

export async function listSessions(api) {
	return (await api.json('GET', '/api/session/list')).sessions;
}

export async function deleteSession(api, sessionId) {
	await api.json('POST', '/api/session/delete', { sessionId });
}
