/**
 * Git: clones, and work on repositories in the sandbox.
 */
import { SandboxError } from './error.js';
import { parseSSEStream } from './sse.js';

/** The answer of a stream that tells its progress meanwhile. */
async function followed(stream, onProgress, signal) {
	for await (const event of parseSSEStream(stream, signal)) {
		const { type, ...rest } = event;

		if (type === 'complete')
			return rest;
		if (type === 'error')
			throw new SandboxError(rest.message, rest);
		if (type === 'progress')
			onProgress(rest);
	}
	throw new SandboxError('The stream ended without a result',
		{ code: 'CONNECTION_FAILED' });
}

/** A call that may take long: with `onProgress` as a stream. */
async function remote(api, name, body, { onProgress, signal }) {
	const route = `/api/git/${name}`;

	if (onProgress === undefined)
		return api.json('POST', route, body, { signal });
	return followed(await api.stream('POST', `${route}/stream`, body,
		{ signal }), onProgress, signal);
}

const remoteOf = (options) => ({
	auth: options.auth,
	credentials: options.credentials,
	knownHosts: options.knownHosts,
	hostKeyFingerprints: options.hostKeyFingerprints,
});

/** A call on the repository at `path` (default: the session's directory). */
const local = (api, name, options, body = {}) =>
	api.json('POST', `/api/git/${name}`, {
		path: options.path,
		timeoutMs: options.timeoutMs,
		...body,
	}, { signal: options.signal });

/** Clones ${repoUrl}: `{repoUrl, branch, targetDir, commit, …}`. */
export function gitCheckout(api, repoUrl, options = {}) {
	return remote(api, 'checkout', {
		repoUrl,
		branch: options.branch,
		commit: options.commit,
		targetDir: options.targetDir,
		depth: options.depth,
		singleBranch: options.singleBranch,
		submodules: options.submodules,
		lfs: options.lfs,
		timeoutMs: options.cloneTimeoutMs ?? options.timeoutMs,
		...remoteOf(options),
	}, options);
}

/** Fetches a branch and brings it in: `{result, before, commit, …}`. */
export function gitPull(api, options = {}) {
	return remote(api, 'pull', {
		path: options.path,
		timeoutMs: options.timeoutMs,
		repoUrl: options.repoUrl,
		remote: options.remote,
		branch: options.branch,
		author: options.author,
		depth: options.depth,
		ffOnly: options.ffOnly,
		submodules: options.submodules,
		...remoteOf(options),
	}, options);
}

/** Gives a branch to a remote: `{result, before, commit, …}`. */
export function gitPush(api, options = {}) {
	return remote(api, 'push', {
		path: options.path,
		timeoutMs: options.timeoutMs,
		repoUrl: options.repoUrl,
		remote: options.remote,
		branch: options.branch,
		remoteBranch: options.remoteBranch,
		force: options.force,
		setUpstream: options.setUpstream,
		...remoteOf(options),
	}, options);
}

/** `{branch, commit, clean, files, upstream, ahead, behind, …}`. */
export function gitStatus(api, options = {}) {
	return local(api, 'status', options, {
		ignored: options.ignored,
		limit: options.limit,
	});
}

/** `{commits: [{id, parents, author, committer, subject, message}]}`. */
export function gitLog(api, options = {}) {
	return local(api, 'log', options, {
		ref: options.ref,
		paths: options.paths,
		limit: options.limit,
		skip: options.skip,
	});
}

/** `{files, additions, deletions, patch}`. */
export function gitDiff(api, options = {}) {
	return local(api, 'diff', options, {
		from: options.from,
		to: options.to,
		staged: options.staged,
		patch: options.patch,
		contextLines: options.contextLines,
		maxBytes: options.maxBytes,
		paths: options.paths,
		limit: options.limit,
	});
}

/** `{branches: [{name, current, remote, commit, upstream, …}]}`. */
export function gitBranches(api, options = {}) {
	return local(api, 'branch/list', options, {
		remote: options.remote,
		limit: options.limit,
	});
}

export function gitCreateBranch(api, name, options = {}) {
	return local(api, 'branch/create', options, {
		name,
		from: options.from,
		force: options.force,
		switch: options.switch,
	});
}

/** Goes to a branch; to any commit with `detach`. */
export function gitSwitch(api, name, options = {}) {
	return local(api, 'branch/switch', options, {
		name,
		create: options.create,
		from: options.from,
		detach: options.detach,
		force: options.force,
	});
}

/** Commits what is staged, or `paths`, or with `all` what changed. */
export function gitCommit(api, message, options = {}) {
	return local(api, 'commit', options, {
		message,
		all: options.all,
		paths: options.paths,
		author: options.author,
		allowEmpty: options.allowEmpty,
	});
}
