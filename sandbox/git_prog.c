/*
 * Cloning with the git program of the sandbox, for what libgit2 cannot do: a
 * server that only has files, a commit by its id where the old protocol gives
 * none, a depth of a local repository (and any local one: git links its
 * objects where libgit2 packs them anew). The program, its settings and its
 * helpers are the tenant's, so it is never given a credential.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "sandbox/git_job.h"

#define ARGS_MAX 32
#define LINE_MAX_BYTES 1024
#define TELL_MS 250

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

static void set_environment(void)
{
	setenv("GIT_TERMINAL_PROMPT", "0", 1);
	setenv("GIT_ASKPASS", "", 1);
	setenv("SSH_ASKPASS", "", 1);
	setenv("GIT_SSH_COMMAND", "false", 1);
	setenv("GIT_LFS_SKIP_SMUDGE", "1", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	unsetenv("GIT_DIR");
	unsetenv("GIT_WORK_TREE");
	unsetenv("GIT_CONFIG_PARAMETERS");
}

/* Every descriptor that it does not need stays ours. */
_Noreturn static void exec_git(const struct args *a, int err)
{
	char *v[ARGS_MAX];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	memset(v, 0, sizeof(v));
	memcpy(v, a->v, sizeof(a->v[0]) * (size_t)a->n);
	if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(err, 2) < 0 ||
	    close_range(3, ~0U, 0) < 0)
		_exit(126);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	set_environment();
	execvp("git", v);
	_exit(127);
}

/* ---- what it says ---- */

struct words {
	struct git_job *job;
	size_t have; /* of job->text */
	char line[LINE_MAX_BYTES];
	size_t len;
	struct git_progress progress;
	int64_t told_ms;
};

/* "Receiving objects:  45% (450/1000), 1.20 MiB | …" */
static bool is_progress(struct words *w)
{
	struct git_progress *p = &w->progress;
	unsigned long long done = 0, all = 0;

	if (sscanf(w->line, "Receiving objects: %*u%% (%llu/%llu)", &done,
		   &all) == 2) {
		p->phase = GIT_PHASE_RECEIVE;
	} else if (sscanf(w->line, "Updating files: %*u%% (%llu/%llu)", &done,
			  &all) == 2) {
		p->phase = GIT_PHASE_CHECKOUT;
		p->files = done;
		p->files_all = all;
		return true;
	} else {
		return strchr(w->line, '%') != NULL &&
		       strstr(w->line, "fatal") == NULL;
	}
	p->objects = done;
	p->objects_all = all;
	return true;
}

static void keep(struct words *w)
{
	char *text = w->job->text;
	size_t size = sizeof(w->job->text);

	if (w->len + 2 > size)
		return;
	if (w->have + w->len + 2 > size)
		w->have = 0; /* the last words count */
	memcpy(text + w->have, w->line, w->len);
	w->have += w->len;
	text[w->have++] = '\n';
	text[w->have] = '\0';
}

static void line_ends(struct words *w)
{
	int64_t now = clock_mono_ms();

	w->line[w->len] = '\0';
	if (w->len > 0 && is_progress(w)) {
		if (now - w->told_ms >= TELL_MS) {
			git_job_progress(&w->progress);
			w->told_ms = now;
		}
	} else if (w->len > 0 && strncmp(w->line, "Cloning into", 12) != 0) {
		keep(w);
	}
	w->len = 0;
}

static void drain(int fd, struct words *w)
{
	char part[1024];
	ssize_t n;
	ssize_t i;

	for (;;) {
		n = read(fd, part, sizeof(part));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		for (i = 0; i < n; i++) {
			if (part[i] == '\r' || part[i] == '\n' ||
			    w->len + 1 == sizeof(w->line))
				line_ends(w);
			else
				w->line[w->len++] = part[i];
		}
	}
	line_ends(w);
	if (w->have > 0)
		w->job->text[w->have - 1] = '\0';
}

/* Run git; its exit code, its words in job->text. */
static int run_git(struct git_job *job, const struct args *a)
{
	struct words w = {.job = job};
	int err[2];
	int status = 0;
	pid_t pid;

	if (pipe2(err, O_CLOEXEC) < 0)
		return -1;
	job->text[0] = '\0';
	pid = fork();
	if (pid == 0)
		exec_git(a, err[1]);
	close(err[1]);
	if (pid > 0)
		drain(err[0], &w);
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
	enum repo_result result;
};

/* git's exit code says nothing; its words (LC_ALL=C) do. */
static const struct phrase phrases[] = {
    {"could not read Username", REPO_AUTH},
    {"could not read Password", REPO_AUTH},
    {"Authentication failed", REPO_AUTH},
    {"terminal prompts disabled", REPO_AUTH},
    {"Permission denied (", REPO_AUTH},
    {"Remote branch", REPO_NO_BRANCH},
    {"couldn't find remote ref", REPO_NO_BRANCH},
    {"not our ref", REPO_NO_BRANCH},
    {"No space left", REPO_NO_SPACE},
    {"Disk quota exceeded", REPO_NO_SPACE},
    {"not found", REPO_NOT_FOUND},
    {"does not exist", REPO_NOT_FOUND},
    {"does not appear to be a git", REPO_NOT_FOUND},
    {"not valid: is this a git repository", REPO_NOT_FOUND},
    {"Could not resolve", REPO_NETWORK},
    {"Failed to connect", REPO_NETWORK},
    {"Connection", REPO_NETWORK},
    {"unable to access", REPO_NETWORK},
    {"early EOF", REPO_NETWORK},
    {"hung up", REPO_NETWORK},
};

static bool failed(struct git_job *job)
{
	size_t i;

	job->result = REPO_OTHER;
	for (i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
		if (strstr(job->text, phrases[i].words) == NULL)
			continue;
		job->result = phrases[i].result;
		break;
	}
	return false;
}

/* ---- clones ---- */

static void start_args(struct args *a)
{
	add(a, "git");
	add(a, "-c");
	add(a, "protocol.ext.allow=never");
	add(a, "-c");
	add(a, "advice.detachedHead=false");
	add(a, "-c");
	add(a, "init.defaultBranch=main");
}

static bool clone_branch(struct git_job *job, const char *depth)
{
	struct args a = {.n = 0};

	start_args(&a);
	add(&a, "clone");
	add(&a, "--progress");
	if (job->rq.depth > 0) {
		add(&a, "--depth");
		add(&a, depth);
	}
	add(&a, git_job_asks(job, GIT_ASK_SINGLE) ? "--single-branch"
						  : "--no-single-branch");
	if (job->rq.branch[0] != '\0') {
		add(&a, "--branch");
		add(&a, job->rq.branch);
	}
	add(&a, "--");
	add(&a, job->rq.url);
	add(&a, job->dir);
	return run_git(job, &a) == 0 ? true : failed(job);
}

/* git -C DIR WORD… */
static bool in_dir(struct git_job *job, const char *const *words)
{
	struct args a = {.n = 0};

	start_args(&a);
	add(&a, "-C");
	add(&a, job->dir);
	for (; *words != NULL; words++)
		add(&a, *words);
	return run_git(job, &a) == 0 ? true : failed(job);
}

static bool fetch_commit(struct git_job *job, const char *id, const char *depth)
{
	const char *const all[] = {"fetch",  "--progress", "--",
				   "origin", id,           NULL};
	const char *const some[] = {"fetch", "--progress", "--depth", depth,
				    "--",    "origin",     id,        NULL};
	const char *const checkout[] = {"checkout", "--quiet", "--detach",
					"FETCH_HEAD", NULL};

	return in_dir(job, job->rq.depth > 0 ? some : all) &&
	       in_dir(job, checkout);
}

/* clone takes no commit id, fetch does. */
static bool clone_commit(struct git_job *job, const char *id, const char *depth)
{
	const char *const init[] = {"init", "--quiet", NULL};
	const char *const remote[] = {"remote", "add",       "--",
				      "origin", job->rq.url, NULL};

	return in_dir(job, init) && in_dir(job, remote) &&
	       fetch_commit(job, id, depth);
}

bool git_prog_run(struct git_job *job)
{
	const char *commit = job->rq.commit;
	char depth[16];

	job->flags |= GIT_DID_PROGRAM;
	snprintf(depth, sizeof(depth), "%u", job->rq.depth);
	if (git_job_is_commit(job->rq.branch))
		return clone_commit(job, job->rq.branch, depth);
	if (commit[0] != '\0' && git_job_asks(job, GIT_ASK_SINGLE))
		return clone_commit(job, commit, depth);
	return clone_branch(job, depth) &&
	       (commit[0] == '\0' || fetch_commit(job, commit, depth));
}
