/** A socket.io server and its page: node socketio.js PORT */
const http = require('node:http');
const { Server } = require('socket.io');

const PAGE = `<!doctype html><title>talk</title>
<script src="/socket.io/socket.io.js"></script>
<script>
const socket = io();
const say = (text) => new Promise((told) => socket.emit('say', text, told));
</script>`;

const server = http.createServer((request, response) => {
	response.setHeader('Content-Type', 'text/html');
	response.end(PAGE);
});

new Server(server).on('connection', (socket) => {
	socket.on('say', (text, told) =>
		told(`by ${socket.conn.transport.name}: ${text}`));
	socket.on('leave', () => socket.disconnect(true));
});
server.listen(Number(process.argv[2]), () => console.log('socketio listens'));
