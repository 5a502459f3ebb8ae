/**
 * A web application for the preview tests: node app.js PORT [ADDRESS]
 */
const crypto = require('node:crypto');
const http = require('node:http');

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const meeting = [];
let waiting = [];

const routes = {
	/** Tells what arrived. */
	async '/echo'(request, response) {
		const chunks = [];

		for await (const chunk of request)
			chunks.push(chunk);
		response.setHeader('Content-Type', 'application/json');
		response.setHeader('X-App', 'yes');
		response.end(JSON.stringify({
			method: request.method,
			url: request.url,
			headers: request.headers,
			body: Buffer.concat(chunks).toString(),
		}));
	},
	'/redirect'(request, response) {
		response.writeHead(307, { Location: '/echo?from=redirect' });
		response.end();
	},
	/** One event now, the next one when someone asks for /release. */
	'/events'(request, response) {
		response.setHeader('Content-Type', 'text/event-stream');
		response.write('data: first\n\n');
		waiting.push(() => response.end('data: second\n\n'));
	},
	'/release'(request, response) {
		waiting.forEach((release) => release());
		waiting = [];
		response.end('released');
	},
	'/big'(request, response) {
		response.end(Buffer.alloc(8 << 20, 'x'));
	},
	/** What an untrusted program would try on the proxy. */
	'/accel'(request, response) {
		response.setHeader('X-Accel-Redirect', '/v1/sandboxes');
		response.end('my own body');
	},
	/** Its own, which looks like a proxy's. */
	'/bad-gateway'(request, response) {
		response.writeHead(502, { 'Content-Type': 'text/html' });
		response.end('<h1>my own gateway</h1>');
	},
	/** Answers once ?n= of these are here. */
	'/meet'(request, response) {
		const n = Number(new URL(request.url, 'http://x')
			.searchParams.get('n'));

		meeting.push(response);
		if (meeting.length === n)
			meeting.splice(0).forEach((one) => one.end(`${n} met`));
	},
	/** SHA-256 of what is sent, and how much it was. */
	async '/digest'(request, response) {
		const hash = crypto.createHash('sha256');
		let bytes = 0;

		for await (const chunk of request) {
			hash.update(chunk);
			bytes += chunk.length;
		}
		response.end(`${bytes} ${hash.digest('hex')}`);
	},
	/** ?n= bytes that no compression makes less, the same each time. */
	async '/stream'(request, response) {
		let left = Number(new URL(request.url, 'http://x')
			.searchParams.get('n'));
		const piece = crypto.createHash('shake256',
			{ outputLength: 1 << 20 }).digest();

		response.setHeader('Content-Length', left);
		while (left > 0) {
			const part = piece.subarray(0, Math.min(left, piece.length));

			left -= part.length;
			if (!response.write(part))
				await new Promise((go) => response.once('drain', go));
		}
		response.end();
	},
	'/teapot'(request, response) {
		response.writeHead(418, { 'X-App': 'yes' });
		response.end('short and stout');
	},
};

const server = http.createServer((request, response) => {
	const { pathname } = new URL(request.url, 'http://localhost');

	if (Object.hasOwn(routes, pathname)) {
		routes[pathname](request, response);
	} else {
		response.statusCode = 404;
		response.end('the application has no such page');
	}
});

/** Sends each short text frame back. */
server.on('upgrade', (request, socket) => {
	const accept = crypto.createHash('sha1')
		.update(request.headers['sec-websocket-key'] + GUID)
		.digest('base64');
	let rest = Buffer.alloc(0);
	const host = Buffer.from(request.headers.host);

	socket.write('HTTP/1.1 101 Switching Protocols\r\n' +
		'Upgrade: websocket\r\nConnection: Upgrade\r\n' +
		`Sec-WebSocket-Accept: ${accept}\r\n\r\n`);
	/* There, which Host it was called by comes first. */
	if (request.url === '/host')
		socket.write(Buffer.concat(
			[Buffer.from([0x81, host.length]), host]));
	socket.on('error', () => {});
	socket.on('data', (chunk) => {
		rest = Buffer.concat([rest, chunk]);
		while (rest.length >= 6) {
			const length = rest[1] & 0x7f;
			if (rest.length < 6 + length)
				break;
			const mask = rest.subarray(2, 6);
			const text = rest.subarray(6, 6 + length)
				.map((byte, i) => byte ^ mask[i % 4]);
			if ((rest[0] & 0x0f) === 8)
				return socket.end();
			socket.write(Buffer.concat(
				[Buffer.from([0x81, length]), text]));
			rest = rest.subarray(6 + length);
		}
	});
});

const [port, address = '127.0.0.1'] = process.argv.slice(2);
server.listen(Number(port), address, () => {
	console.log('app listens');
});
