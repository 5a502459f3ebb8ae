/**
 * An application that sends its visitors about, as frameworks do: by whole
 * addresses made of X-Forwarded-*, by paths, with a cookie: node login.js PORT
 */
const http = require('node:http');

const html = (response, body) => {
	response.setHeader('Content-Type', 'text/html');
	response.end(`<!doctype html><title>app</title>${body}`);
};
const go = (response, status, to) =>
	response.writeHead(status, { Location: to }).end();

const nameOf = ({ headers }) =>
	/(?:^|; )name=(\w+)/.exec(headers.cookie ?? '')?.[1];

const routes = {
	'GET /'(request, response) {
		const { headers } = request;

		go(response, 307, `${headers['x-forwarded-proto']}://` +
			`${headers['x-forwarded-host']}/login?from=%2F`);
	},
	'GET /login'(request, response) {
		html(response, '<form method=post action=/login>' +
			'<input name=name><button>go</button></form>');
	},
	async 'POST /login'(request, response) {
		let body = '';

		for await (const part of request)
			body += part;
		response.setHeader('Set-Cookie', [
			`name=${new URLSearchParams(body).get('name')}; ` +
				'Path=/; HttpOnly; SameSite=Lax',
			'theme=dark; Path=/',
		]);
		go(response, 303, '/home/');
	},
	'GET /home/': (request, response) => go(response, 308, '../home'),
	'GET /home'(request, response) {
		const name = nameOf(request);

		if (name === undefined)
			go(response, 302, '/login');
		else
			html(response, `<h1>hello ${name}</h1>`);
	},
};

http.createServer((request, response) => {
	const { pathname } = new URL(request.url, 'http://localhost');
	const route = routes[`${request.method} ${pathname}`];

	if (route === undefined)
		response.writeHead(404).end('no such page');
	else
		route(request, response);
}).listen(Number(process.argv[2]), () => console.log('login listens'));
