/**
 * A small S3-compatible object store for tests: objects of one bucket in
 * memory, by path style. It takes nothing whose AWS Signature 4 is not exact:
 * key id, region, date, signed headers, and the SHA-256 of what comes.
 */
import { createHash, createHmac } from 'node:crypto';
import http from 'node:http';

const MUST_SIGN = ['host', 'x-amz-content-sha256', 'x-amz-date'];
const SKEW_MS = 15 * 60_000;

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const hmac = (key, text) => createHmac('sha256', key).update(text).digest();

function timeOf(stamp) {
	const m = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(stamp ?? '');

	return m === null ? NaN : Date.UTC(m[1], m[2] - 1, ...m.slice(3));
}

/** Why a request is not signed as it must be; undefined: it is. */
export function signatureFault({ method, url, headers }, body, account) {
	const m = new RegExp('^AWS4-HMAC-SHA256 Credential=([^/,]+)/(\\d{8})/' +
		'([^/,]+)/s3/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?' +
		'Signature=([0-9a-f]{64})$').exec(headers.authorization ?? '');

	if (m === null)
		return 'no signature';
	const [, id, day, region, list, signature] = m;
	const stamp = headers['x-amz-date'];
	const signed = list.split(';');

	if (id !== account.id || region !== account.region)
		return 'another account';
	if (!stamp?.startsWith(day) ||
		!(Math.abs(timeOf(stamp) - Date.now()) < SKEW_MS))
		return 'another time';
	if (MUST_SIGN.some((name) => !signed.includes(name)) ||
		signed.join() !== [...signed].sort().join())
		return 'headers are not signed';
	if (headers['x-amz-content-sha256'] !== sha256(body))
		return 'another content';
	const { pathname, searchParams } = new URL(url, 'http://x');
	const query = [...searchParams].map(([k, v]) =>
		`${encodeURIComponent(k)}=${encodeURIComponent(v)}`).sort().join('&');
	const canonical = [method, pathname, query,
		...signed.map((name) => `${name}:${headers[name].trim()}`), '', list,
		headers['x-amz-content-sha256']].join('\n');
	const text = ['AWS4-HMAC-SHA256', stamp,
		`${day}/${region}/s3/aws4_request`, sha256(canonical)].join('\n');
	const key = [day, region, 's3', 'aws4_request'].reduce(hmac,
		`AWS4${account.secret}`);

	return hmac(key, text).toString('hex') === signature
		? undefined : 'another signature';
}

const PART_LEAST = 5 << 20;
const PART = new RegExp('<Part><PartNumber>(\\d+)</PartNumber>' +
	'<ETag>([^<]+)</ETag></Part>', 'g');
const xml = (response, text) => {
	response.writeHead(200, { 'Content-Type': 'application/xml' });
	response.end(`<?xml version="1.0" encoding="UTF-8"?>\n${text}`);
};
const tagOf = (bytes) => `"${createHash('md5').update(bytes).digest('hex')}"`;

/** Objects that come in parts; as S3 has it, the list of them counts. */
class Uploads {
	#last = 0;

	constructor(objects) {
		this.objects = objects;
		this.open = new Map();
	}

	begin(name, response) {
		const id = `up.${++this.#last}_~-x`;

		this.open.set(id, { name, parts: new Map() });
		xml(response, '<InitiateMultipartUploadResult xmlns="x">' +
			`<Key>${name}</Key><UploadId>${id}</UploadId>` +
			'</InitiateMultipartUploadResult>');
	}

	list(prefix, response) {
		const found = [...this.open].filter(([, { name }]) =>
			name.startsWith(prefix));

		xml(response, '<ListMultipartUploadsResult xmlns="x">' +
			found.map(([id, { name }]) => `<Upload><Key>${name}</Key>` +
				`<UploadId>${id}</UploadId></Upload>`).join('') +
			'</ListMultipartUploadsResult>');
	}

	put(id, number, body, response) {
		const tag = tagOf(body);

		this.open.get(id).parts.set(number, { body, tag });
		response.writeHead(200, { ETag: tag }).end();
	}

	/** Undefined, or the code of what is wrong. */
	complete(id, text, response) {
		const { name, parts } = this.open.get(id);
		const rows = [...text.matchAll(PART)];
		const bodies = rows.map(([, number, tag], i) =>
			Number(number) === i + 1 && parts.get(number)?.tag === tag
				? parts.get(number).body : undefined);

		if (bodies.length === 0 || bodies.includes(undefined))
			return 'InvalidPart';
		if (bodies.slice(0, -1).some(({ length }) => length < PART_LEAST))
			return 'EntityTooSmall';
		this.objects.set(name, Buffer.concat(bodies));
		this.open.delete(id);
		return xml(response, '<CompleteMultipartUploadResult xmlns="x">' +
			`<Key>${name}</Key></CompleteMultipartUploadResult>`);
	}
}

/**
 * `{url, objects, uploads, seen, faults, next, close}`: objects is a Map of
 * names, uploads one of what is sent in parts and not complete; seen has a line
 * for each request, but what sweeps ask; faults why requests were refused. What
 * next has is done instead of such a request, unless it is undefined: a status,
 * "hang up", or a function (request, response).
 */
export async function startS3({ bucket, ...account }) {
	const objects = new Map();
	const uploads = new Uploads(objects);
	const s3 = { objects, uploads: uploads.open, seen: [], faults: [],
		next: [] };
	const refuse = (response, status, text) => {
		response.writeHead(status, { 'Content-Type': 'application/xml' });
		response.end(`<Error><Code>${text}</Code></Error>`);
	};

	const inParts = ({ method }, response, name, query, body) => {
		const id = query.get('uploadId');

		if (method === 'GET' && name === '' && query.has('uploads'))
			return uploads.list(query.get('prefix') ?? '', response);
		if (method === 'POST' && query.has('uploads'))
			return uploads.begin(name, response);
		if (uploads.open.get(id)?.name !== name)
			return refuse(response, 404, 'NoSuchUpload');
		if (method === 'PUT')
			return uploads.put(id, query.get('partNumber'), body,
				response);
		if (method === 'DELETE') {
			uploads.open.delete(id);
			return response.writeHead(204).end();
		}
		const wrong = method === 'POST'
			? uploads.complete(id, String(body), response)
			: 'MethodNotAllowed';
		return wrong && refuse(response, 400, wrong);
	};

	const serve = (request, response, body) => {
		const fault = signatureFault(request, body, account);
		const prefix = `/${bucket}/`;
		const { pathname, searchParams: query } =
			new URL(request.url, 'http://x');
		const name = pathname.slice(prefix.length);

		/* A sweep's, which come at any time. */
		const sweeps = request.method === 'DELETE' ||
			request.method === 'GET' && query.has('uploads');

		if (!sweeps)
			s3.seen.push(`${request.method} ${request.url}`);
		if (fault !== undefined || !request.url.startsWith(prefix)) {
			s3.faults.push(fault ?? 'another bucket');
			return refuse(response, 403, 'SignatureDoesNotMatch');
		}
		const instead = sweeps ? undefined : s3.next.shift();

		if (typeof instead === 'function')
			return instead(request, response, body);
		if (instead === 'hang up')
			return request.socket.destroy();
		if (instead !== undefined)
			return refuse(response, instead, 'InternalError');
		if ([...query].length > 0 || request.method === 'POST')
			return inParts(request, response, name, query, body);
		switch (request.method) {
		case 'PUT':
			s3.objects.set(name, body);
			return response.end();
		case 'GET':
			return s3.objects.has(name)
				? response.end(s3.objects.get(name))
				: refuse(response, 404, 'NoSuchKey');
		case 'DELETE':
			s3.objects.delete(name);
			return response.writeHead(204).end();
		default:
			return refuse(response, 405, 'MethodNotAllowed');
		}
	};
	const server = http.createServer((request, response) => {
		const pieces = [];

		request.on('error', () => {});
		request.on('data', (piece) => pieces.push(piece));
		request.on('end', () =>
			serve(request, response, Buffer.concat(pieces)));
	});

	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	s3.url = `http://127.0.0.1:${server.address().port}`;
	s3.close = () => {
		server.closeAllConnections();
		return new Promise((resolve) => server.close(resolve));
	};
	return s3;
}
