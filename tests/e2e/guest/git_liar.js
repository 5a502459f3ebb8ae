/**
 * A git server that lies: node git_liar.js PORT. The first part of the path
 * says how.
 */
const { createHash, randomBytes } = require('node:crypto');
const http = require('node:http');

const ID = 'a'.repeat(40);
const line = (text) => Buffer.concat([
	Buffer.from((Buffer.byteLength(text) + 4).toString(16).padStart(4, '0')),
	Buffer.from(text)]);
const END = Buffer.from('0000');
const CAPS = 'side-band-64k ofs-delta symref=HEAD:refs/heads/main';
const refs = (...names) => Buffer.concat([
	line('# service=git-upload-pack\n'), END, line(`${ID} HEAD\0${CAPS}\n`),
	...names.map((name) => line(`${ID} ${name}\n`)), END]);

/* In pieces of the first side band. */
function band(bytes) {
	const pieces = [line('NAK\n')];

	for (let at = 0; at < bytes.length; at += 60000) {
		const piece = bytes.subarray(at, at + 60000);
		pieces.push(Buffer.from((piece.length + 5).toString(16)
			.padStart(4, '0') + '\x01'), piece);
	}
	return Buffer.concat([...pieces, END]);
}

function pack(count, objects) {
	const head = Buffer.alloc(12);

	head.write('PACK');
	head.writeUInt32BE(2, 4);
	head.writeUInt32BE(count, 8);
	const bytes = Buffer.concat([head, objects]);
	return Buffer.concat([bytes, createHash('sha1').update(bytes).digest()]);
}

/* ${piece} again and again, for as long as somebody reads. */
function endless(response, piece) {
	const more = () => {
		while (!response.destroyed && response.write(piece))
			continue;
	};

	response.on('drain', more);
	more();
}

const ADVERTISE = {
	'endless-refs': (response) => {
		response.write(refs().subarray(0, -4));
		endless(response, Buffer.concat(Array.from({ length: 500 },
			(_, i) => line(`${ID} refs/heads/b${i}\n`))));
	},
	'no-lines': (response) => response.end('zzzz'.repeat(1000)),
	'long-line': (response) => response.end('ffff' + 'x'.repeat(100)),
	'names': (response) => response.end(refs('refs/heads/../../../escape',
		'refs/heads/main', 'refs/heads/-x', 'refs/../escape', '../escape',
		'refs/tags/a/../../../escape', '/tmp/escape')),
	'loop': (response, request) =>
		response.writeHead(302, { Location: request.url }).end(),
};

/* A blob of 2^60 bytes, by its header. */
const VAST = Buffer.from([0xb0, ...Array(7).fill(0x80), 0x40, 0x78, 0x9c, 0x03,
	0x00, 0x00, 0x00, 0x00, 0x01]);
const ANSWER = {
	'garbage': (response) => response.end(band(randomBytes(300_000))),
	'nothing': (response) => response.end(band(pack(0, Buffer.alloc(0)))),
	'many': (response) => response.end(band(pack(0xffffffff,
		randomBytes(1000)))),
	'vast': (response) => response.end(band(pack(1, VAST))),
	'cut': (response) => {
		response.write(band(pack(9, randomBytes(1000))).subarray(0, 700),
			() => response.destroy());
	},
	'endless-words': (response) => {
		response.write(line('NAK\n'));
		endless(response, line('\x02still counting objects\r'));
	},
	'endless-pack': (response) => {
		response.write(band(pack(9, Buffer.alloc(0))).subarray(0, -4));
		endless(response, line(`\x01${'x'.repeat(60000)}`));
	},
};

http.createServer((request, response) => {
	const [, how] = request.url.split('/');
	const asks = request.method === 'POST' ? 'result' : 'advertisement';

	response.on('error', () => {});
	response.setHeader('Content-Type', `application/x-git-upload-pack-${asks}`);
	if (asks === 'advertisement')
		return (ADVERTISE[how] ?? ((to) => to.end(refs('refs/heads/main'))))(
			response, request);
	request.resume();
	return request.on('end', () => (ANSWER[how] ?? ANSWER.nothing)(response));
}).listen(Number(process.argv[2]), '127.0.0.1', () => {
	console.log(`lies: ${Object.keys({ ...ADVERTISE, ...ANSWER })}`);
});
