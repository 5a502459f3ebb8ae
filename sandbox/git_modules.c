#include <stdlib.h>
#include <string.h>

#include "sandbox/git_modules.h"
#include "sandbox/git_net.h"
#include "sandbox/git_own.h"

#define DEEP_MAX 8
#define MODULES_MAX 256U

struct names {
	char *at[MODULES_MAX];
	size_t n;
};

static void names_free(struct names *names)
{
	while (names->n > 0)
		free(names->at[--names->n]);
}

static int on_module(git_submodule *module, const char *name, void *arg)
{
	struct names *names = arg;
	char *copy;

	(void)module;
	if (names->n == MODULES_MAX)
		return GIT_EUSER;
	copy = strdup(name);
	if (copy == NULL)
		return -1;
	names->at[names->n++] = copy;
	return 0;
}

static bool update_all(struct git_job *job, git_repository *repo, int deep);

/* Its URL is made whole and judged as the request's own was. */
static bool judge_url(struct git_job *job, git_repository *repo,
		      git_submodule *module, struct git_net *net)
{
	OWN(buf_free) struct buf clean = BUF_INIT(GIT_URL_MAX + 1);
	OWN(buf_free) struct buf user = BUF_INIT(GIT_URL_MAX + 1);
	OWN(buf_free) struct buf secret = BUF_INIT(GIT_URL_MAX + 1);
	git_buf whole = {0};
	const char *url = git_submodule_url(module);
	bool ok = url != NULL &&
		  git_submodule_resolve_url(&whole, repo, url) == 0 &&
		  git_url_ok(whole.ptr) &&
		  git_url_split(whole.ptr, &clean, &user, &secret);

	git_buf_dispose(&whole);
	if (!ok)
		return git_job_fail(job, REPO_INVALID,
				    "Submodule %.200s has a URL that cannot "
				    "be used",
				    git_submodule_name(module));
	git_net_begin(net, job, buf_str(&clean));
	return true;
}

static bool update_one(struct git_job *job, git_repository *repo,
		       const char *name, int deep)
{
	OWN(own_submodule) git_submodule *module = NULL;
	OWN(own_repository) git_repository *inner = NULL;
	git_submodule_update_options opts;
	struct git_net net = {0};
	int r = git_submodule_lookup(&module, repo, name);

	if (r < 0)
		return git_job_failed(job, r, "A submodule cannot be read");
	if (git_submodule_head_id(module) == NULL)
		return true; /* of .gitmodules alone */
	if (!judge_url(job, repo, module, &net))
		return false;
	must(git_submodule_update_options_init(
		 &opts, GIT_SUBMODULE_UPDATE_OPTIONS_VERSION) == 0);
	git_net_fetch_options(&net, &opts.fetch_opts);
	git_net_checkout(&net, &opts.checkout_opts);
	r = git_submodule_update(module, 1, &opts);
	if (r < 0)
		return git_net_failed(&net, r);
	r = git_submodule_open(&inner, module);
	return r == 0 ? update_all(job, inner, deep + 1)
		      : git_job_failed(job, r, "A submodule cannot be read");
}

static bool update_all(struct git_job *job, git_repository *repo, int deep)
{
	OWN(names_free) struct names names = {.n = 0};
	int r;

	if (deep > DEEP_MAX)
		return git_job_fail(job, REPO_INVALID,
				    "Submodules are nested too deeply");
	r = git_submodule_foreach(repo, on_module, &names);
	if (r == GIT_EUSER)
		return git_job_fail(job, REPO_INVALID,
				    "There are more than %u submodules",
				    MODULES_MAX);
	if (r < 0)
		return git_job_failed(job, r, "Submodules cannot be read");
	for (size_t i = 0; i < names.n; i++) {
		if (!update_one(job, repo, names.at[i], deep))
			return false;
	}
	return true;
}

bool git_modules_update(struct git_job *job, git_repository *repo)
{
	return update_all(job, repo, 0);
}

bool git_modules_lfs(git_repository *repo)
{
	OWN(own_object) git_object *blob = NULL;
	static const char word[] = "filter=lfs";

	if (git_revparse_single(&blob, repo, "HEAD:.gitattributes") < 0 ||
	    git_object_type(blob) != GIT_OBJECT_BLOB)
		return false;
	return memmem(git_blob_rawcontent((const git_blob *)blob),
		      (size_t)git_blob_rawsize((const git_blob *)blob), word,
		      sizeof(word) - 1) != NULL;
}
