/**
 * Git.
 */

/** Clones ${repoUrl}: `{repoUrl, branch, targetDir}`. */
export function gitCheckout(api, repoUrl, options = {}) {
	return api.json('POST', '/api/git/checkout', {
		repoUrl,
		branch: options.branch,
		targetDir: options.targetDir,
		depth: options.depth,
		timeoutMs: options.cloneTimeoutMs,
		auth: options.auth,
	}, { signal: options.signal });
}
