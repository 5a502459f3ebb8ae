/** A server of the package ws, which sends back what it gets: PORT */
const { WebSocketServer } = require('ws');

const server = new WebSocketServer({
	port: Number(process.argv[2]),
	handleProtocols: (asked) => (asked.has('second') ? 'second' : false),
	maxPayload: 16 << 20,
	perMessageDeflate: true,
});

server.on('connection', (socket) => {
	socket.on('message', (data, isBinary) =>
		socket.send(data, { binary: isBinary }));
	socket.on('ping', (data) => socket.send(`pinged ${data}`));
	socket.on('close', (code, reason) =>
		console.log(`closed ${code} ${reason}`));
});
server.on('listening', () => console.log('echo listens'));
