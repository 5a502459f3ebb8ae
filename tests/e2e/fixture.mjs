/**
 * fixture.mjs start FILE | stop FILE
 * One stack for all test files under ctest; where it is stands in FILE.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';

import * as server from './lib/server.mjs';

async function start(file) {
	const port = await server.freePort();
	const data = await server.makeDataDir();
	const stack = await server.start({ port, data });

	await writeFile(file, JSON.stringify(stack));
	console.log(`a stack for the tests is up: ${stack.url}`);
}

async function stop(file) {
	const { data } = JSON.parse(await readFile(file));

	await server.stopAndRemove(data);
	await rm(file);
}

const commands = { start, stop };
const [command, file] = process.argv.slice(2);

if (!Object.hasOwn(commands, command) || file === undefined) {
	console.error('usage: fixture.mjs start|stop FILE');
	process.exit(2);
}
await commands[command](file);
