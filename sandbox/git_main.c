/*
 * warren-git: clones a repository, inside a sandbox and as its user, so that
 * the files have the right owner and no repository can reach anything else.
 *
 * The parent reads the request (base/git_msg.h), prepares the directory and
 * waits; the child clones. When the child ends badly, the reader goes away or
 * a signal comes, the parent kills what is left and removes what was made.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
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
#include "sandbox/git_job.h"

#define EXIT_CANCELLED 143
#define AUTHORITIES "/opt/warren/lib/ca-certificates.crt"

bool git_job_fail(struct git_job *job, enum checkout_result result,
		  const char *fmt, ...)
{
	va_list ap;

	job->result = result;
	va_start(ap, fmt);
	vsnprintf(job->text, sizeof(job->text), fmt, ap);
	va_end(ap);
	return false;
}

bool git_job_is_commit(const char *s)
{
	return strlen(s) == 40 && strspn(s, "0123456789abcdef") == 40;
}

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

static bool prepare_url(struct git_job *job, struct url *u)
{
	struct git_request *rq = &job->rq;

	if (!git_url_ok(rq->url) ||
	    !git_url_split(rq->url, &u->clean, &u->user, &u->secret) ||
	    !absolute(buf_str(&u->clean), &u->full) ||
	    strpbrk(rq->user, "\r\n") != NULL ||
	    (rq->auth == CHECKOUT_AUTH_BASIC &&
	     strpbrk(rq->secret, "\r\n") != NULL))
		return git_job_fail(job, CHECKOUT_INVALID,
				    "invalid repository URL");
	if (rq->branch[0] == '-' || strlen(rq->branch) >= GIT_BRANCH_MAX)
		return git_job_fail(job, CHECKOUT_NO_BRANCH,
				    "invalid branch name");
	rq->url = buf_str(&u->full);
	if (rq->auth == CHECKOUT_AUTH_NONE && u->user.len > 0) {
		rq->auth = CHECKOUT_AUTH_BASIC;
		rq->user = buf_str(&u->user);
		rq->secret = buf_str(&u->secret);
	}
	return true;
}

/* ---- the child ---- */

static void send_result(const struct git_job *job, int fd)
{
	OWN(buf_free) struct buf b = BUF_INIT(GIT_RECORD_MAX);
	struct git_record rec = {.kind = GIT_RECORD_RESULT,
				 .status = job->result,
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

/* libgit2 has begun and could not: from the start, with the program. */
static bool with_program(struct git_job *job)
{
	const char *why = job->rq.depth > 0 ? "A clone with a depth"
					    : "A clone from this server";

	if (!git_prog_here())
		return git_job_fail(job, CHECKOUT_NEEDS_PROGRAM,
				    "%s needs the git program, which this "
				    "sandbox does not have",
				    why);
	if (job->rq.auth == CHECKOUT_AUTH_SSH)
		return git_job_fail(job, CHECKOUT_NEEDS_PROGRAM,
				    "%s cannot use a private key", why);
	empty_dir(job->dir);
	return git_prog_run(job);
}

static bool clone_any(struct git_job *job)
{
	if (job->rq.depth > 0)
		return with_program(job);
	if (git_clone_run(job))
		return true;
	if (job->dumb || (job->result == CHECKOUT_NO_BRANCH &&
			  git_job_is_commit(job->rq.branch) && git_prog_here()))
		return with_program(job);
	return false;
}

/* An image without any has those of the machine. */
static bool trust_authorities(void)
{
	return access("/etc/ssl/certs/ca-certificates.crt", R_OK) == 0 ||
	       access(AUTHORITIES, R_OK) != 0 ||
	       git_libgit2_opts(GIT_OPT_SET_SSL_CERT_LOCATIONS, AUTHORITIES,
				NULL) == 0;
}

_Noreturn static void child(struct git_job *job, int out)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (git_libgit2_init() < 0 || !trust_authorities()) {
		git_job_fail(job, CHECKOUT_OTHER, "libgit2 does not start");
	} else if (clone_any(job) && git_clone_head(job)) {
		job->result = CHECKOUT_OK;
		job->text[0] = '\0';
	}
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
		git_job_fail(job, CHECKOUT_OTHER,
			     "the clone was ended before it was complete");
		return;
	}
	job->result = rec.status;
	snprintf(job->branch, sizeof(job->branch), "%s", rec.branch);
	snprintf(job->commit, sizeof(job->commit), "%s", rec.commit);
	snprintf(job->text, sizeof(job->text), "%s", rec.text);
}

static bool dir_failed(struct git_job *job, const struct fs_op *op,
		       const char *dir)
{
	bool exists = op->head.status == FS_EXISTS;

	return git_job_fail(job,
			    exists ? CHECKOUT_DIR_EXISTS : CHECKOUT_INVALID,
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
		git_job_fail(job, CHECKOUT_OTHER, "no process for the clone");
		return 0;
	}
	wait_child(&w);
	if (w.cancelled)
		return EXIT_CANCELLED;
	take_result(job, &w);
	if (job->result == CHECKOUT_OK && git_dir_commit(&d, &op) < 0)
		dir_failed(job, &op, dir);
	return 0;
}

int main(void)
{
	OWN(buf_free) struct buf b = BUF_INIT(GIT_REQUEST_MAX + 1);
	OWN(url_free)
	struct url u = {.clean = BUF_INIT(GIT_URL_MAX + 1),
			.full = BUF_INIT(2 * GIT_URL_MAX),
			.user = BUF_INIT(GIT_URL_MAX + 1),
			.secret = BUF_INIT(GIT_URL_MAX + 1)};
	struct git_job *job = calloc(1, sizeof(*job));
	int code = 0;

	prctl(PR_SET_DUMPABLE, 0); /* the credential is in our memory */
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	if (job == NULL || !read_request(&b, &job->rq)) {
		free(job);
		return 2;
	}
	if (prepare_url(job, &u))
		code = clone_into(job);
	if (code == 0)
		send_result(job, STDOUT_FILENO);
	free(job);
	return code;
}
