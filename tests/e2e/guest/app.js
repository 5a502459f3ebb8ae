/**
 * A web application for the preview tests: node app.js PORT [ADDRESS]
 */
const crypto = require('node:crypto');
const http = require('node:http');

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
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

	socket.write('HTTP/1.1 101 Switching Protocols\r\n' +
		'Upgrade: websocket\r\nConnection: Upgrade\r\n' +
		`Sec-WebSocket-Accept: ${accept}\r\n\r\n`);
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
