/**
 * Serves the repositories below the current directory by git's own smart
 * HTTP program: node git_server.js PORT [USER:PASSWORD]
 * With a credential, every request needs it. /slow/… is never answered,
 * /away/… is somewhere else (GIT_AWAY, a URL). GIT_HOST is the address to
 * listen on; what Authorization requests had goes to the file GIT_SEEN, a
 * line each.
 */
const { execFileSync, spawn } = require('node:child_process');
const { appendFileSync } = require('node:fs');
const http = require('node:http');

const core = execFileSync('git', ['--exec-path']).toString().trim();
const { GIT_AWAY, GIT_HOST = '127.0.0.1', GIT_SEEN } = process.env;

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

/** The head of a CGI answer as an HTTP one. */
function answerHead(response, text) {
	for (const line of text.split('\r\n')) {
		const [name, value] = line.split(/: */, 2);
		if (name === 'Status')
			response.statusCode = parseInt(value, 10);
		else
			response.setHeader(name, value);
	}
}

/** Passes a CGI answer on as it comes. */
function answer(response, output) {
	let start = Buffer.alloc(0);
	let begun = false;

	output.on('data', (chunk) => {
		if (begun)
			return void response.write(chunk);
		start = Buffer.concat([start, chunk]);
		const end = start.indexOf('\r\n\r\n');
		if (end < 0)
			return undefined;
		begun = true;
		answerHead(response, start.subarray(0, end).toString());
		return void response.write(start.subarray(end + 4));
	});
	output.on('end', () => response.end());
}

function refused(request) {
	const credential = process.argv[3];

	return credential !== undefined && request.headers.authorization !==
		`Basic ${Buffer.from(credential).toString('base64')}`;
}

function serve(request, response) {
	const child = spawn(`${core}/git-http-backend`,
		{ env: environment(request),
			stdio: ['pipe', 'pipe', 'inherit'] });

	child.stdin.on('error', () => {});
	request.pipe(child.stdin);
	answer(response, child.stdout);
}

http.createServer((request, response) => {
	if (GIT_SEEN !== undefined)
		appendFileSync(GIT_SEEN,
			`${request.headers.authorization ?? 'none'}\n`);
	if (request.url.startsWith('/slow/'))
		return;
	if (request.url.startsWith('/away/')) {
		const Location = GIT_AWAY + request.url.slice('/away'.length);
		response.writeHead(302, { Location }).end();
	} else if (refused(request)) {
		response.writeHead(401, { 'WWW-Authenticate': 'Basic' }).end();
	} else {
		serve(request, response);
	}
}).listen(Number(process.argv[2]), GIT_HOST, () => {
	console.log('git server listens');
});
