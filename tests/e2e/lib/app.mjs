/**
 * guest/app.js on port 8100 of a sandbox.
 */
import { guest } from '../stack.mjs';

export async function withApp(sandbox) {
	await sandbox.writeFile('/workspace/app.js', await guest('app.js'));
	const app = await sandbox.startProcess('node app.js 8100');
	await app.waitForLog('app listens', 20_000);
	return { sandbox, app };
}
