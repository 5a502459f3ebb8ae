/**
 * Repositories in a sandbox, and servers of them.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

const guest = (name) => readFile(new URL(`../guest/${name}`, import.meta.url),
	'utf8');

export const IDENTITY = 'export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b ' +
	'GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n';

/** Runs ${command}, which must succeed; what it prints. */
export async function run(sandbox, command, options) {
	const { stdout, stderr, exitCode } = await sandbox.exec(
		`set -e\n${IDENTITY}${command}`,
		{ sessionId: '__DISABLE_SESSION__', ...options });

	assert.equal(exitCode, 0, `${stdout}${stderr}`);
	return stdout.trim();
}

/** A server of /tmp/repos at ${host}, with ${env} for git_server.js. */
export async function serve(sandbox,
	{ host = '127.0.0.1', port = 8123, credential = '', env = {} } = {}) {
	await sandbox.writeFile('/tmp/git_server.js',
		await guest('git_server.js'));
	const server = await sandbox.startProcess(
		`exec node /tmp/git_server.js ${port} ${credential}`,
		{ cwd: '/tmp/repos', env: {
			GIT_HOST: host, GIT_CONFIG_GLOBAL: '/dev/null', ...env,
		} });

	await server.waitForLog('git server listens', 30_000);
	return `http://${host}:${port}`;
}

/** /tmp/repos/NAME.git, made by ${history} of a repository in ${branch}. */
export function makeBare(sandbox, name, history) {
	return run(sandbox, `rm -rf /tmp/make; mkdir -p /tmp/repos /tmp/make
		cd /tmp/make; git init -q -b main
		${history}
		git clone -q --bare /tmp/make /tmp/repos/${name}.git
		cd /tmp/repos/${name}.git
		git config http.receivepack true
		git config uploadpack.allowAnySHA1InWant true`);
}

/** /tmp/repos/NAME.git with many commits. */
export async function makeLarge(sandbox, name, commits, files) {
	await sandbox.writeFile('/tmp/git_history.py',
		await guest('git_history.py'));
	return run(sandbox, `mkdir -p /tmp/repos
		git init -q --bare -b main /tmp/repos/${name}.git
		python3 /tmp/git_history.py ${commits} ${files} |
			git -C /tmp/repos/${name}.git fast-import --quiet --done`);
}

/** Lines of Authorization that a server with GIT_SEEN was sent. */
export async function seen(sandbox, file) {
	const { exists } = await sandbox.exists(file);

	return exists
		? (await sandbox.readFile(file)).content.trim().split('\n')
		: [];
}
