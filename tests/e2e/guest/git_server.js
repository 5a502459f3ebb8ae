/**
 * Serves the repositories below the current directory by git's own smart
 * HTTP program: node git_server.js PORT [USER:PASSWORD]
 * With a credential, every request needs it. /slow/… is never answered.
 */
const { execFileSync, spawn } = require('node:child_process');
const http = require('node:http');

const core = execFileSync('git', ['--exec-path']).toString().trim();

function environment(request) {
	const { pathname, search } = new URL(request.url, 'http://localhost');

	return {
		...process.env,
		GIT_PROJECT_ROOT: process.cwd(),
		GIT_HTTP_EXPORT_ALL: '1',
		GIT_PROTOCOL: request.headers['git-protocol'] ?? '',
		PATH_INFO: pathname,
		QUERY_STRING: search.slice(1),
		REQUEST_METHOD: request.method,
		CONTENT_TYPE: request.headers['content-type'] ?? '',
		HTTP_CONTENT_ENCODING:
			request.headers['content-encoding'] ?? '',
		REMOTE_ADDR: '127.0.0.1',
	};
}

/** Turns a CGI answer into an HTTP one. */
function answer(response, output) {
	const end = output.indexOf('\r\n\r\n');
	const head = output.subarray(0, end).toString().split('\r\n');

	for (const line of head) {
		const [name, value] = line.split(/: */, 2);
		if (name === 'Status')
			response.statusCode = parseInt(value, 10);
		else
			response.setHeader(name, value);
	}
	response.end(output.subarray(end + 4));
}

function refused(request) {
	const credential = process.argv[3];

	return credential !== undefined && request.headers.authorization !==
		`Basic ${Buffer.from(credential).toString('base64')}`;
}

http.createServer((request, response) => {
	if (request.url.startsWith('/slow/'))
		return;
	if (refused(request)) {
		response.writeHead(401, { 'WWW-Authenticate': 'Basic' });
		response.end();
		return;
	}
	const child = spawn(`${core}/git-http-backend`,
		{ env: environment(request),
			stdio: ['pipe', 'pipe', 'inherit'] });
	const chunks = [];

	request.pipe(child.stdin);
	child.stdout.on('data', (chunk) => chunks.push(chunk));
	child.stdout.on('end', () => answer(response, Buffer.concat(chunks)));
}).listen(Number(process.argv[2]), '127.0.0.1', () => {
	console.log('git server listens');
});
