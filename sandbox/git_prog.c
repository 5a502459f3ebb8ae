/*
 * Cloning with the git program of the sandbox: for what libgit2 cannot do
 * (a depth, a server that only has files, a commit by its id).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/git_url.h"
#include "base/own.h"
#include "sandbox/git_job.h"

#define ARGS_MAX 32
#define CRED_FD 9
/* Reads the descriptor anew each time that git asks. */
#define CRED_HELPER "!f() { test \"$1\" = get && cat /proc/self/fd/9; }; f"

struct args {
	const char *v[ARGS_MAX];
	int n;
};

static void add(struct args *a, const char *s)
{
	if (a->n < ARGS_MAX - 1)
		a->v[a->n++] = s;
}

bool git_prog_here(void)
{
	static const char *const paths[] = {"/usr/bin/git",
					    "/usr/local/bin/git", "/bin/git"};
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (access(paths[i], X_OK) == 0)
			return true;
	}
	return false;
}

/* The credential on a descriptor: in no argument, environment or file. */
static int credential_fd(const struct git_request *rq)
{
	OWN(own_fd) int fd = -1;

	if (rq->auth != CHECKOUT_AUTH_BASIC)
		return -1;
	fd = memfd_create("credential", MFD_CLOEXEC);
	if (fd < 0 || fchmod(fd, 0600) < 0 ||
	    dprintf(fd, "username=%s\npassword=%s\n", rq->user, rq->secret) < 0)
		return -1;
	return STEAL_FD(fd);
}

/* credential.<scheme://host>.helper: sent to no other host. */
static void credential_key(const struct git_request *rq, struct buf *key)
{
	const char *host = strstr(rq->url, "://");
	size_t n;

	if (host == NULL)
		return;
	n = (size_t)(host + 3 - rq->url);
	n += strcspn(rq->url + n, "/?#");
	buf_adds(key, "credential.");
	buf_add(key, rq->url, n);
	buf_adds(key, ".helper=" CRED_HELPER);
}

static void set_environment(void)
{
	setenv("GIT_TERMINAL_PROMPT", "0", 1);
	setenv("GIT_ASKPASS", "", 1);
	setenv("SSH_ASKPASS", "", 1);
	setenv("GIT_SSH_COMMAND",
	       "ssh -oBatchMode=yes -oStrictHostKeyChecking=accept-new", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	unsetenv("GIT_DIR");
	unsetenv("GIT_WORK_TREE");
}

_Noreturn static void exec_git(const struct args *a, int cred, int err)
{
	char *v[ARGS_MAX];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	memset(v, 0, sizeof(v));
	memcpy(v, a->v, sizeof(a->v[0]) * (size_t)a->n);
	if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(err, 2) < 0)
		_exit(126);
	if (cred >= 0 && dup2(cred, CRED_FD) < 0)
		_exit(126);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	set_environment();
	execvp("git", v);
	_exit(127);
}

/* What git says on its stderr, at most GIT_TEXT_MAX of it; the last counts. */
static void drain(int fd, char *text, size_t size)
{
	size_t have = 0;
	ssize_t n;
	char part[1024];

	for (;;) {
		n = read(fd, part, sizeof(part));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		if (have + (size_t)n >= size) {
			size_t keep = size - 1 - (size_t)n;
			size_t from = have > keep ? have - keep : 0;

			memmove(text, text + from, have - from);
			have -= from;
		}
		memcpy(text + have, part, (size_t)n);
		have += (size_t)n;
	}
	while (have > 0 && text[have - 1] == '\n')
		have--;
	text[have] = '\0';
}

/* Run git; its exit code, its words in job->text. */
static int run_git(struct git_job *job, const struct args *a, int cred)
{
	int err[2];
	int status = 0;
	pid_t pid;

	if (pipe2(err, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		exec_git(a, cred, err[1]);
	close(err[1]);
	if (pid > 0)
		drain(err[0], job->text, sizeof(job->text));
	close(err[0]);
	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct phrase {
	const char *words;
	enum checkout_result result;
};

/* git's exit code says nothing; its words (LC_ALL=C) do. */
static const struct phrase phrases[] = {
    {"could not read Username", CHECKOUT_AUTH},
    {"could not read Password", CHECKOUT_AUTH},
    {"Authentication failed", CHECKOUT_AUTH},
    {"terminal prompts disabled", CHECKOUT_AUTH},
    {"Permission denied (", CHECKOUT_AUTH},
    {"Remote branch", CHECKOUT_NO_BRANCH},
    {"couldn't find remote ref", CHECKOUT_NO_BRANCH},
    {"not our ref", CHECKOUT_NO_BRANCH},
    {"No space left", CHECKOUT_NO_SPACE},
    {"Disk quota exceeded", CHECKOUT_NO_SPACE},
    {"not found", CHECKOUT_NOT_FOUND},
    {"does not exist", CHECKOUT_NOT_FOUND},
    {"does not appear to be a git", CHECKOUT_NOT_FOUND},
    {"not valid: is this a git repository", CHECKOUT_NOT_FOUND},
    {"Could not resolve", CHECKOUT_NETWORK},
    {"Failed to connect", CHECKOUT_NETWORK},
    {"Connection", CHECKOUT_NETWORK},
    {"unable to access", CHECKOUT_NETWORK},
    {"early EOF", CHECKOUT_NETWORK},
    {"hung up", CHECKOUT_NETWORK},
};

static bool failed(struct git_job *job)
{
	size_t i;

	job->result = CHECKOUT_OTHER;
	for (i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
		if (strstr(job->text, phrases[i].words) == NULL)
			continue;
		job->result = phrases[i].result;
		break;
	}
	return false;
}

static void start_args(struct args *a, const struct buf *cred_key)
{
	add(a, "git");
	add(a, "-c");
	add(a, "protocol.ext.allow=never");
	add(a, "-c");
	add(a, "advice.detachedHead=false");
	if (cred_key->len == 0)
		return;
	add(a, "-c");
	add(a, "credential.helper=");
	add(a, "-c");
	add(a, buf_str(cred_key));
}

static bool clone_branch(struct git_job *job, const struct buf *key, int cred,
			 const char *depth)
{
	struct args a = {.n = 0};

	start_args(&a, key);
	add(&a, "clone");
	add(&a, "--quiet");
	if (job->rq.depth > 0) {
		add(&a, "--depth");
		add(&a, depth);
	}
	if (job->rq.branch[0] != '\0') {
		add(&a, "--branch");
		add(&a, job->rq.branch);
	}
	add(&a, "--");
	add(&a, job->rq.url);
	add(&a, job->dir);
	return run_git(job, &a, cred) == 0 ? true : failed(job);
}

/* git -C DIR WORD… */
static bool in_dir(struct git_job *job, const struct buf *key, int cred,
		   const char *const *words)
{
	struct args a = {.n = 0};

	start_args(&a, key);
	add(&a, "-C");
	add(&a, job->dir);
	for (; *words != NULL; words++)
		add(&a, *words);
	return run_git(job, &a, cred) == 0 ? true : failed(job);
}

/* clone takes no commit id, fetch does. */
static bool clone_commit(struct git_job *job, const struct buf *key, int cred,
			 const char *depth)
{
	const char *const init[] = {"init", "--quiet", NULL};
	const char *const remote[] = {"remote", "add",       "--",
				      "origin", job->rq.url, NULL};
	const char *const all[] = {"fetch", "--quiet", "origin", job->rq.branch,
				   NULL};
	const char *const some[] = {"fetch",  "--quiet",      "--depth", depth,
				    "origin", job->rq.branch, NULL};
	const char *const checkout[] = {"checkout", "--quiet", "--detach",
					"FETCH_HEAD", NULL};

	return in_dir(job, key, -1, init) && in_dir(job, key, -1, remote) &&
	       in_dir(job, key, cred, job->rq.depth > 0 ? some : all) &&
	       in_dir(job, key, -1, checkout);
}

bool git_prog_run(struct git_job *job)
{
	OWN(own_fd) int cred = credential_fd(&job->rq);
	OWN(buf_free) struct buf key = BUF_INIT(2 * GIT_URL_MAX);
	char depth[16];

	if (job->rq.auth == CHECKOUT_AUTH_BASIC && cred < 0)
		return git_job_fail(job, CHECKOUT_OTHER,
				    "no room for the credential");
	if (cred >= 0)
		credential_key(&job->rq, &key);
	snprintf(depth, sizeof(depth), "%u", job->rq.depth);
	if (git_job_is_commit(job->rq.branch))
		return clone_commit(job, &key, cred, depth);
	return clone_branch(job, &key, cred, depth);
}
