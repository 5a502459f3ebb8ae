/**
 * `cloudflare:workers` as far as the client's modules need it to load. The
 * classes are bases of its Worker half, which the tests do not use.
 */
export class RpcTarget {}
export class DurableObject {}
export class WorkerEntrypoint {}

export const tracing = {
	enterSpan(name, call, ...args) {
		return call({ setAttribute() {} }, ...args);
	},
};
