/* What all operations have in common: failing, telling, opening. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/git_job.h"
#include "sandbox/git_own.h"

bool git_job_fail(struct git_job *job, enum repo_result result, const char *fmt,
		  ...)
{
	va_list ap;

	job->result = result;
	va_start(ap, fmt);
	vsnprintf(job->text, sizeof(job->text), fmt, ap);
	va_end(ap);
	return false;
}

static enum repo_result result_of(int r, const char *text)
{
	if (strstr(text, "No space left") || strstr(text, "quota exceeded"))
		return REPO_NO_SPACE;
	switch (r) {
	case GIT_ENOTFOUND:
	case GIT_EAMBIGUOUS:
	case GIT_EUNBORNBRANCH:
		return REPO_NO_BRANCH;
	case GIT_EINVALIDSPEC:
		return REPO_INVALID;
	case GIT_EEXISTS:
		return REPO_EXISTS;
	case GIT_ELOCKED:
		return REPO_BUSY;
	case GIT_ECONFLICT:
	case GIT_EUNCOMMITTED:
		return REPO_DIRTY;
	case GIT_EUNMERGED:
	case GIT_EMERGECONFLICT:
		return REPO_CONFLICT;
	case GIT_ENONFASTFORWARD:
		return REPO_REJECTED;
	default:
		return REPO_OTHER;
	}
}

bool git_job_failed(struct git_job *job, int r, const char *what)
{
	const git_error *err = git_error_last();
	const char *text = err != NULL ? err->message : "unknown error";

	return git_job_fail(job, result_of(r, text), "%s: %s", what, text);
}

bool git_job_is_commit(const char *s)
{
	return strlen(s) == 40 && strspn(s, "0123456789abcdef") == 40;
}

bool git_job_asks(const struct git_job *job, uint32_t flag)
{
	return (job->rq.flags & flag) != 0;
}

/* ---- telling ---- */

static bool put_all(const struct buf *b)
{
	size_t at = 0;
	ssize_t n;

	while (at < b->len) {
		n = write(STDOUT_FILENO, b->data + at, b->len - at);
		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0)
			at += (size_t)n;
	}
	return true;
}

bool git_job_row(const struct git_row *row)
{
	OWN(buf_free) struct buf b = BUF_INIT(GIT_RECORD_MAX);
	struct git_record rec = {.kind = GIT_RECORD_ROW, .row = *row};

	git_put_record(&b, &rec);
	return buf_ok(&b) && put_all(&b);
}

void git_job_progress(const struct git_progress *p)
{
	OWN(buf_free) struct buf b = BUF_INIT(128);
	struct git_record rec = {.kind = GIT_RECORD_PROGRESS, .progress = *p};

	git_put_record(&b, &rec);
	(void)put_all(&b);
}

/* ---- repositories ---- */

bool git_job_open(struct git_job *job, git_repository **repo)
{
	int r = git_repository_open_ext(repo, job->dir, 0, NULL);

	if (r == GIT_ENOTFOUND)
		return git_job_fail(job, REPO_NO_DIR,
				    "'%s' is not a git repository",
				    job->rq.dir);
	if (r < 0)
		return git_job_failed(job, r, "The repository cannot be read");
	return true;
}

bool git_job_head(struct git_job *job, git_repository *repo)
{
	static const char heads[] = "refs/heads/";
	OWN(own_reference) git_reference *head = NULL;
	const char *target;
	git_oid id;

	if (git_reference_lookup(&head, repo, "HEAD") < 0)
		return git_job_fail(job, REPO_OTHER, "no HEAD");
	job->branch[0] = '\0';
	job->commit[0] = '\0';
	target = git_reference_symbolic_target(head);
	if (target != NULL && strncmp(target, heads, sizeof(heads) - 1) == 0)
		snprintf(job->branch, sizeof(job->branch), "%s",
			 target + sizeof(heads) - 1);
	if (git_reference_name_to_id(&id, repo, "HEAD") == 0)
		git_oid_tostr(job->commit, sizeof(job->commit), &id);
	return true;
}

/* ---- secrets ---- */

#define SECRET_MIN 4 /* shorter ones are in any sentence */

static void scrub(char *text, const char *secret)
{
	size_t n = strlen(secret);
	char *at;

	if (n < SECRET_MIN)
		return;
	while ((at = strstr(text, secret)) != NULL) {
		memcpy(at, "***", 3);
		memmove(at + 3, at + n, strlen(at + n) + 1);
	}
}

void git_job_scrub(struct git_job *job)
{
	for (uint32_t i = 0; i < job->rq.ncreds; i++) {
		scrub(job->text, job->rq.creds[i].secret);
		scrub(job->text, job->rq.creds[i].passphrase);
	}
}
