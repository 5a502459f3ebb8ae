/** A page of server-sent events: node events.js PORT */
const http = require('node:http');

const PAGE = `<!doctype html><title>events</title><script>
const seen = [];
const source = new EventSource('/events');
source.onmessage = ({ data }) => seen.push(data);
</script>`;

const streams = new Set();
let last = 0;

const say = (stream, text) =>
	stream.write(`id: ${++last}\ndata: ${text}\n\n`);

const routes = {
	'/'(request, response) {
		response.setHeader('Content-Type', 'text/html');
		response.end(PAGE);
	},
	'/events'(request, response) {
		response.setHeader('Content-Type', 'text/event-stream');
		response.write('retry: 100\n\n');
		say(response, `after ${request.headers['last-event-id']}`);
		streams.add(response);
		response.on('close', () => streams.delete(response));
	},
	'/next'(request, response) {
		streams.forEach((stream) => say(stream, 'next'));
		response.end();
	},
	'/drop'(request, response) {
		streams.forEach((stream) => stream.destroy());
		response.end();
	},
};

http.createServer((request, response) =>
	(routes[request.url] ?? ((_, none) => none.writeHead(404).end()))(
		request, response))
	.listen(Number(process.argv[2]), () => console.log('events listens'));
