/*
 * warren-git: clones and works on repositories, inside a sandbox and as its
 * user, so that files have the right owner and no repository can reach anything
 * else. It runs no program of a repository: no hook, filter or helper.
 * As "warren-git ignored PATH" it tells what git ignores (git_ignored.h).
 *
 * The parent reads the request (base/git_msg.h), prepares the directory and
 * waits; the child works. When the child ends badly, the reader goes away or
 * a signal comes, the parent kills what is left and removes what a clone made.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/git_url.h"
#include "base/own.h"
#include "sandbox/git_dir.h"
#include "sandbox/git_ignored.h"
#include "sandbox/git_job.h"
#include "sandbox/git_modules.h"
#include "sandbox/git_own.h"
#include "sandbox/git_shallow.h"

#define EXIT_CANCELLED 143
#define AUTHORITIES "/opt/warren/lib/ca-certificates.crt"

/* ---- the request ---- */

static bool read_all(int fd, void *p, size_t n)
{
	char *at = p;
	ssize_t r;

	while (n > 0) {
		r = read(fd, at, n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return false;
		at += r;
		n -= (size_t)r;
	}
	return true;
}

static bool read_request(struct buf *b, struct git_request *rq)
{
	uint32_t len;
	void *p;

	if (!read_all(STDIN_FILENO, &len, sizeof(len)))
		return false;
	len = le32toh(len);
	p = len > 0 && len <= GIT_REQUEST_MAX ? buf_space(b, len) : NULL;
	if (p == NULL || !read_all(STDIN_FILENO, p, len))
		return false;
	buf_grow(b, len);
	return git_get_request((const uint8_t *)b->data, b->len, rq, NULL) ==
	       ERR_NONE;
}

/* A relative path is about the directory that we are about to leave. */
static bool absolute(const char *url, struct buf *out)
{
	char cwd[PATH_MAX];

	if (url[0] == '.' && getcwd(cwd, sizeof(cwd)) != NULL)
		buf_addf(out, "%s/", cwd);
	buf_adds(out, url);
	return buf_ok(out);
}

struct url {
	struct buf clean;
	struct buf full;
	struct buf user;
	struct buf secret;
};

static void url_free(struct url *u)
{
	buf_free(&u->clean);
	buf_free(&u->full);
	buf_free(&u->user);
	buf_free(&u->secret);
}

static bool bad_texts(const struct git_request *rq)
{
	for (uint32_t i = 0; i < rq->ncreds; i++) {
		if (strpbrk(rq->creds[i].user, "\r\n") != NULL ||
		    (rq->creds[i].auth == REPO_AUTH_BASIC &&
		     strpbrk(rq->creds[i].secret, "\r\n") != NULL))
			return true;
	}
	return false;
}

static bool bad_name(const char *name)
{
	return name[0] == '-' || strlen(name) >= GIT_BRANCH_MAX;
}

/* The worker took a user and password out of it already. */
static bool prepare_url(struct git_job *job, struct url *u)
{
	struct git_request *rq = &job->rq;

	if (bad_name(rq->branch) || bad_name(rq->commit) ||
	    bad_name(rq->remote) || bad_name(rq->remote_branch))
		return git_job_fail(job, REPO_INVALID, "invalid name");
	if (rq->url[0] == '\0' && rq->op != GIT_OP_CLONE)
		return true;
	if (!git_url_ok(rq->url) || bad_texts(rq) ||
	    !git_url_split(rq->url, &u->clean, &u->user, &u->secret) ||
	    u->user.len > 0 || !absolute(buf_str(&u->clean), &u->full))
		return git_job_fail(job, REPO_INVALID,
				    "invalid repository URL");
	rq->url = buf_str(&u->full);
	return true;
}

/* ---- the child ---- */

static void send_result(const struct git_job *job, int fd)
{
	OWN(buf_free) struct buf b = BUF_INIT(GIT_RECORD_MAX);
	struct git_record rec = {.kind = GIT_RECORD_RESULT,
				 .status = job->result,
				 .flags = job->flags,
				 .branch = job->branch,
				 .commit = job->commit,
				 .text = job->text};
	size_t at = 0;
	ssize_t n;

	git_put_record(&b, &rec);
	while (at < b.len) {
		n = write(fd, b.data + at, b.len - at);
		if (n < 0 && errno != EINTR)
			return;
		if (n > 0)
			at += (size_t)n;
	}
}

static void empty_dir(const char *name)
{
	struct git_dir d = {.at = {.dir = AT_FDCWD}};

	snprintf(d.at.name, sizeof(d.at.name), "%s", name);
	git_dir_close(&d);
}

/* From the start, with the program, which gets no credential. */
static bool with_program(struct git_job *job, const char *why)
{
	if (!git_prog_here())
		return git_job_fail(job, REPO_NEEDS_PROGRAM,
				    "%s needs the git program, which this "
				    "sandbox does not have",
				    why);
	if (job->rq.ncreds > 0)
		return git_job_fail(job, REPO_NEEDS_PROGRAM,
				    "%s needs the git program, which is given "
				    "no credential",
				    why);
	empty_dir(job->dir);
	return git_prog_run(job);
}

static bool clone_by_any(struct git_job *job)
{
	bool local = git_url_is_local(job->rq.url);

	if (local && (job->rq.depth > 0 || git_prog_here())) {
		if (with_program(job, "A depth of a local repository"))
			return true;
		/* of another user: git refuses, libgit2 runs nothing of it */
		if (job->rq.depth > 0 ||
		    strstr(job->text, "dubious ownership") == NULL)
			return false;
		job->flags &= ~GIT_DID_PROGRAM;
		empty_dir(job->dir);
	}
	if (git_clone_run(job))
		return true;
	if (job->dumb)
		return with_program(job, "A clone from this server");
	if (job->result == REPO_NO_BRANCH && job->by_id)
		return with_program(job, "A commit by its id, of this server,");
	return false;
}

static bool finish_clone(struct git_job *job)
{
	OWN(own_repository) git_repository *repo = NULL;

	if (git_repository_open(&repo, job->dir) < 0)
		return git_job_fail(job, REPO_OTHER,
				    "the clone cannot be read");
	if (git_modules_lfs(repo))
		job->flags |= GIT_DID_LFS;
	if (git_job_asks(job, GIT_ASK_SUBMODULES) &&
	    !git_modules_update(job, repo))
		return false;
	return git_job_head(job, repo);
}

typedef bool operation(struct git_job *job, git_repository *repo);

static operation *const operations[GIT_OP_END] = {
    [GIT_OP_STATUS] = git_status_run,  [GIT_OP_LOG] = git_log_run,
    [GIT_OP_DIFF] = git_diff_run,      [GIT_OP_BRANCHES] = git_branch_list,
    [GIT_OP_BRANCH] = git_branch_make, [GIT_OP_SWITCH] = git_branch_switch,
    [GIT_OP_COMMIT] = git_commit_run,  [GIT_OP_PULL] = git_pull_run,
    [GIT_OP_PUSH] = git_push_run,
};

/* HEAD is read anew: a pull may have opened it once more. */
static bool run_op(struct git_job *job)
{
	OWN(own_repository) git_repository *repo = NULL;
	OWN(own_repository) git_repository *then = NULL;

	if (job->rq.op == GIT_OP_CLONE)
		return clone_by_any(job) && finish_clone(job);
	if (!git_job_open(job, &repo))
		return false;
	if (!git_shallow_graft(repo))
		return git_job_fail(job, REPO_OTHER,
				    "where its history ends cannot be read");
	if (!operations[job->rq.op](job, repo))
		return false;
	return git_job_open(job, &then) && git_job_head(job, then);
}

/*
 * The sandbox's own list may name anybody. It is good enough for what needs no
 * credential; an image without any has those of the machine.
 */
static bool trust_authorities(const struct git_job *job)
{
	if (job->rq.ncreds == 0 &&
	    (access("/etc/ssl/certs/ca-certificates.crt", R_OK) == 0 ||
	     access(AUTHORITIES, R_OK) != 0))
		return true;
	return git_libgit2_opts(GIT_OPT_SET_SSL_CERT_LOCATIONS, AUTHORITIES,
				NULL) == 0;
}

_Noreturn static void child(struct git_job *job, int out)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Nothing here runs what a repository holds, whosever it is. */
	if (git_libgit2_init() < 0 || !trust_authorities(job) ||
	    git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0) < 0) {
		git_job_fail(job, REPO_OTHER, "libgit2 does not start");
	} else if (run_op(job)) {
		job->result = REPO_OK;
		job->text[0] = '\0';
	}
	git_job_scrub(job);
	send_result(job, out);
	_exit(0);
}

/* ---- the parent ---- */

struct wait {
	pid_t pid;
	int sig;
	int in; /* the child's result */
	struct buf got;
	bool cancelled;
	bool reaped;
};

static void wait_close(struct wait *w)
{
	own_fd(&w->sig);
	own_fd(&w->in);
	buf_free(&w->got);
}

static void take(struct wait *w)
{
	char *p = buf_space(&w->got, 4096);
	ssize_t n = p != NULL ? read(w->in, p, 4096) : -1;

	if (n > 0)
		buf_grow(&w->got, (size_t)n);
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		own_fd(&w->in);
}

static void on_signal(struct wait *w)
{
	struct signalfd_siginfo si;

	if (read(w->sig, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return;
	if (si.ssi_signo != SIGCHLD)
		w->cancelled = true;
	else if (waitpid(w->pid, NULL, WNOHANG) == w->pid)
		w->reaped = true;
}

static void wait_child(struct wait *w)
{
	struct pollfd p[3];

	while (!w->reaped || w->in >= 0) {
		p[0] = (struct pollfd){.fd = w->sig, .events = POLLIN};
		p[1] = (struct pollfd){.fd = w->in, .events = POLLIN};
		p[2] = (struct pollfd){.fd = w->cancelled ? -1 : 1};
		if (poll(p, 3, -1) < 0)
			continue;
		if (p[1].revents != 0)
			take(w);
		if (p[0].revents != 0)
			on_signal(w);
		if (p[2].revents != 0)
			w->cancelled = true; /* nobody wants it any more */
		if (w->cancelled)
			kill(-w->pid, SIGKILL);
	}
	kill(-w->pid, SIGKILL); /* what it may have left */
}

static bool start_child(struct git_job *job, struct wait *w)
{
	sigset_t set;
	int fd[2];

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	w->sig = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w->sig < 0 || pipe2(fd, O_CLOEXEC) < 0)
		return false;
	w->pid = fork();
	if (w->pid == 0) {
		setpgid(0, 0);
		child(job, fd[1]);
	}
	close(fd[1]);
	w->in = fd[0];
	if (w->pid < 0)
		return false;
	setpgid(w->pid, w->pid);
	return true;
}

/* The child's word becomes ours. */
static void take_result(struct git_job *job, struct wait *w)
{
	struct git_record rec = {0};
	size_t used = 0;

	if (git_get_record((const uint8_t *)buf_str(&w->got), w->got.len, &used,
			   &rec, NULL) != ERR_NONE ||
	    used == 0 || rec.kind != GIT_RECORD_RESULT) {
		git_job_fail(job, REPO_OTHER,
			     "it was ended before it was complete");
		return;
	}
	job->result = rec.status;
	job->flags = rec.flags;
	snprintf(job->branch, sizeof(job->branch), "%s", rec.branch);
	snprintf(job->commit, sizeof(job->commit), "%s", rec.commit);
	snprintf(job->text, sizeof(job->text), "%s", rec.text);
}

static bool dir_failed(struct git_job *job, const struct fs_op *op,
		       const char *dir)
{
	bool exists = op->head.status == FS_EXISTS;

	return git_job_fail(job, exists ? REPO_DIR_EXISTS : REPO_INVALID,
			    "destination path '%s' %s", dir,
			    exists ? "already exists and is not an empty "
				     "directory"
				   : fs_status_text(op->head.status));
}

static int clone_into(struct git_job *job)
{
	OWN(git_dir_close) struct git_dir d = {.at = {.dir = -1}, .done = true};
	OWN(wait_close)
	struct wait w = {.sig = -1, .in = -1, .got = BUF_INIT(GIT_RECORD_MAX)};
	struct fs_op op = {0};
	const char *dir = job->rq.dir;

	if (git_dir_open(&d, dir, &op) < 0) {
		dir_failed(job, &op, dir);
		return 0;
	}
	job->dir = git_dir_name(&d);
	if (!start_child(job, &w)) {
		git_job_fail(job, REPO_OTHER, "no process for it");
		return 0;
	}
	wait_child(&w);
	if (w.cancelled)
		return EXIT_CANCELLED;
	take_result(job, &w);
	if (job->result == REPO_OK && git_dir_commit(&d, &op) < 0)
		dir_failed(job, &op, dir);
	return 0;
}

/* On a repository that is there: nothing to prepare, nothing to remove. */
static int work_in(struct git_job *job)
{
	OWN(wait_close)
	struct wait w = {.sig = -1, .in = -1, .got = BUF_INIT(GIT_RECORD_MAX)};

	job->dir = job->rq.dir;
	if (!start_child(job, &w)) {
		git_job_fail(job, REPO_OTHER, "no process for it");
		return 0;
	}
	wait_child(&w);
	if (w.cancelled)
		return EXIT_CANCELLED;
	take_result(job, &w);
	return 0;
}

/* Nobody else sees our memory (no filter lets anybody trace us), and what we
 * load is ours (nginx/image_host): no setting of the sandbox adds a library. */
static void stand_alone(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	signal(SIGPIPE, SIG_IGN);
	setenv("OPENSSL_CONF", "/dev/null", 1);
	umask(022);
}

int main(int argc, char **argv)
{
	OWN(buf_free) struct buf b = BUF_INIT(GIT_REQUEST_MAX + 1);
	OWN(url_free)
	struct url u = {.clean = BUF_INIT(GIT_URL_MAX + 1),
			.full = BUF_INIT(2 * GIT_URL_MAX),
			.user = BUF_INIT(GIT_URL_MAX + 1),
			.secret = BUF_INIT(GIT_URL_MAX + 1)};
	struct git_job *job = calloc(1, sizeof(*job));
	int code = 0;

	stand_alone();
	if (argc == 3 && strcmp(argv[1], "ignored") == 0) {
		free(job);
		return git_ignored_tell(argv[2]) < 0;
	}
	if (job == NULL || !read_request(&b, &job->rq)) {
		free(job);
		return 2;
	}
	if (prepare_url(job, &u))
		code = job->rq.op == GIT_OP_CLONE ? clone_into(job)
						  : work_in(job);
	if (code == 0)
		send_result(job, STDOUT_FILENO);
	git_request_free(&job->rq);
	free(job);
	return code;
}
