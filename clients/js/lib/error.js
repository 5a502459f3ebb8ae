/**
 * The one error type of this client. What the service answered is in
 * `code`, `httpStatus`, `context` and `requestId`; trouble on the way to it
 * has the code CONNECTION_FAILED and the status 0.
 */
export class SandboxError extends Error {
	constructor(message, fields = {}) {
		super(message, fields.cause && { cause: fields.cause });
		this.name = 'SandboxError';
		this.code = fields.code ?? 'UNKNOWN_ERROR';
		this.httpStatus = fields.httpStatus ?? 0;
		this.context = fields.context ?? {};
		this.requestId = fields.requestId;
		this.operation = fields.operation;
		this.suggestion = fields.suggestion;
		this.timestamp = fields.timestamp;
	}

	/**
	 * The error for an answer which is not 2xx. Some answer with a page of
	 * a proxy in place of JSON: its status is still told.
	 */
	static async fromResponse(response) {
		const text = await response.text().catch(() => '');
		const requestId =
			response.headers.get('x-request-id') ?? undefined;
		const body = parseObject(text);

		if (body === undefined)
			return new SandboxError(
				`HTTP ${response.status} without a JSON body`,
				{
					code: 'INVALID_JSON_RESPONSE',
					httpStatus: response.status,
					context: { body: text.slice(0, 256) },
					requestId,
				},
			);
		return new SandboxError(
			body.message || body.error || `HTTP ${response.status}`,
			{
				requestId,
				...body,
				httpStatus: response.status,
			},
		);
	}
}

function parseObject(text) {
	try {
		const value = JSON.parse(text);
		return value !== null && typeof value === 'object'
			? value
			: undefined;
	} catch {
		return undefined;
	}
}
