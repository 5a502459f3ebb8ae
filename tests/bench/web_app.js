/**
 * The server of the preview rows, the same inside and outside:
 * node web_app.js PORT
 */
const http = require('node:http');

const small = Buffer.alloc(1024, 'x');
const large = Buffer.alloc(1 << 20, 'x');

http.createServer((request, response) => {
	const body = request.url === '/large' ? large : small;

	response.writeHead(200, {
		'Content-Type': 'text/plain',
		'Content-Length': body.length,
	});
	response.end(body);
}).listen(Number(process.argv[2]), '127.0.0.1', () => {
	console.log('web app listens');
});
