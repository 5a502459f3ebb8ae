/* exec_start(): pipes, environment, and the request to init. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/init_msg.h"
#include "base/kernel_msg.h"
#include "base/own.h"
#include "sandbox/keeper_exec.h"
#include "sandbox/keeper_fork.h"
#include "sandbox/keeper_init.h"
#include "sandbox/keeper_kernel.h"
#include "sandbox/keeper_pipe.h"
#include "sandbox/keeper_session.h"

#define PATH_DEFAULT                                                           \
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* What the program gets as 0, 1, 2 (and 3); ours to hand to init. */
struct stdio {
	int fds[WIRE_FDS_MAX];
	int nfds;
};

static void stdio_close(struct stdio *s)
{
	for (int i = 0; i < WIRE_FDS_MAX; i++)
		own_fd(&s->fds[i]);
}

static int dup_fd(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* A pipe for one stream: the program's end stays blocking, ours does not. */
static int make_pipe(int *ours, int *theirs, bool we_read)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return -1;
	*ours = we_read ? p[0] : p[1];
	*theirs = we_read ? p[1] : p[0];
	return fcntl(*ours, F_SETFL, O_NONBLOCK);
}

static int open_stdin(struct exec *x, const struct keeper_start *s, int given,
		      int *theirs)
{
	if (given >= 0) {
		*theirs = dup_fd(given);
		return *theirs;
	}
	if (s->stdin_len == 0 && (s->flags & KF_STDIN_OPEN) == 0) {
		*theirs = dup_fd(x->keeper->null_fd);
		return *theirs;
	}
	return make_pipe(&x->in_fd, theirs, false);
}

static int open_output(struct exec *x, struct exec_pipe *p, int given,
		       enum event_kind kind, int *theirs)
{
	int ours = -1;

	if (given >= 0) {
		*theirs = dup_fd(given);
		return *theirs;
	}
	if (make_pipe(&ours, theirs, true) < 0) {
		own_fd(&ours);
		return -1;
	}
	return pipe_watch(x, p, ours, kind, NULL) == ERR_NONE ? 0 : -1;
}

/* The given descriptors, in the order of the flags. */
static bool given_fds(uint32_t flags, const int *fds, int nfds, int given[3])
{
	static const uint32_t bits[3] = {KF_STDIN_FD, KF_STDOUT_FD,
					 KF_STDERR_FD};
	int n = 0;

	for (int i = 0; i < 3; i++) {
		given[i] = -1;
		if ((flags & bits[i]) == 0)
			continue;
		if (n == nfds)
			return false;
		given[i] = fds[n++];
	}
	return n == nfds;
}

static int open_control(struct exec *x, struct stdio *io)
{
	int s[2], off = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s) < 0)
		return -1;
	io->fds[3] = s[1];
	io->nfds = 4;
	setsockopt(s[0], SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
	if (fcntl(s[0], F_SETFL, O_NONBLOCK) < 0) {
		close(s[0]);
		return -1;
	}
	return kernel_open(x, s[0], NULL) == ERR_NONE ? 0 : -1;
}

static enum err open_stdio(struct exec *x, const struct keeper_start *s,
			   const int given[3], struct stdio *io,
			   struct errinfo *e)
{
	bool merge = (s->flags & KF_MERGE) != 0 && given[2] < 0;

	if (open_stdin(x, s, given[0], &io->fds[0]) < 0 ||
	    open_output(x, &x->out, given[1], EVENT_OUT, &io->fds[1]) < 0)
		return err_set(e, ERR_IO, errno, "pipes");
	if (merge)
		io->fds[2] = dup_fd(io->fds[1]);
	else if (open_output(x, &x->err, given[2], EVENT_ERR, &io->fds[2]) < 0)
		return err_set(e, ERR_IO, errno, "pipes");
	if (io->fds[2] < 0)
		return err_set(e, ERR_IO, errno, "pipes");
	io->nfds = 3;
	if (x->kind == EXEC_KERNEL && open_control(x, io) < 0)
		return err_set(e, ERR_IO, errno, "control socket");
	return ERR_NONE;
}

static bool env_names(const char *entry, const char *other)
{
	size_t n = strcspn(entry, "=");

	return strncmp(entry, other, n + 1) == 0;
}

#define ENV_BASE_MAX 6

/* What is in every environment, but for what START names itself. */
static uint32_t env_base(const struct keeper_start *s, bool root,
			 const char *use[ENV_BASE_MAX])
{
	const char *const base[ENV_BASE_MAX] = {
	    root ? "HOME=/root" : "HOME=/home/sandbox",
	    root ? "USER=root" : "USER=sandbox",
	    root ? "LOGNAME=root" : "LOGNAME=sandbox",
	    PATH_DEFAULT,
	    "LANG=C.UTF-8",
	    "SHELL=/bin/bash"};
	uint32_t n = 0;

	for (size_t i = 0; i < ENV_BASE_MAX; i++) {
		bool named = false;

		for (uint32_t j = 0; j < s->envc && !named; j++)
			named = env_names(base[i], s->env[j]);
		if (!named)
			use[n++] = base[i];
	}
	return n;
}

static bool is_root(const struct keeper_start *s)
{
	return strcmp(s->user, "sandbox") != 0;
}

static void put_env(struct buf *b, const struct keeper_start *s)
{
	const char *base[ENV_BASE_MAX];
	uint32_t n = env_base(s, is_root(s), base);

	wire_u32(b, n + s->envc);
	for (uint32_t i = 0; i < n; i++)
		wire_str(b, base[i]);
	for (uint32_t j = 0; j < s->envc; j++)
		wire_str(b, s->env[j]);
}

static void put_0(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s) + 1);
}

/* BEGIN: see kernel_msg.h. */
static void put_begin(struct buf *b, const struct keeper_start *s)
{
	const char *base[ENV_BASE_MAX];
	uint32_t n = env_base(s, is_root(s), base);

	put_0(b, s->cwd[0] != '\0' ? s->cwd : "/workspace");
	for (uint32_t i = 0; i < n; i++)
		put_0(b, base[i]);
	for (uint32_t j = 0; j < s->envc; j++)
		put_0(b, s->env[j]);
}

static enum err put_spawn(struct buf *b, const struct keeper_start *s,
			  struct errinfo *e)
{
	wire_u8(b, s->kind == EXEC_FS);
	wire_u8(b, is_root(s) ? INIT_USER_ROOT : INIT_USER_SANDBOX);
	wire_u8(b, s->cwd[0] != '\0');
	wire_str(b, s->cwd);
	wire_u32(b, s->argc);
	for (uint32_t i = 0; i < s->argc; i++)
		wire_str(b, s->argv[i]);
	put_env(b, s);
	if (!buf_ok(b))
		return err_set(e, ERR_LIMIT, 0, "command too long");
	return ERR_NONE;
}

static enum err start_check(const struct keeper_start *s, struct errinfo *e)
{
	const uint32_t spare = KF_SPARE;

	if ((s->flags & (KF_SPARE | KF_FORKED)) == KF_SPARE ||
	    ((s->flags & KF_CLAIM) != 0 &&
	     (s->flags != KF_CLAIM || s->kind != EXEC_KERNEL)))
		return err_set(e, ERR_ARG, 0, "spare");
	if (s->kind < EXEC_CALL || s->kind > EXEC_KERNEL)
		return err_set(e, ERR_ARG, 0, "kind");
	if (s->argc == 0)
		return err_set(e, ERR_ARG, 0, "argv");
	if (s->user[0] != '\0' && strcmp(s->user, "root") != 0 &&
	    strcmp(s->user, "sandbox") != 0)
		return err_set(e, ERR_ARG, 0, "user");
	if (s->session[0] != '\0' && s->kind != EXEC_CALL &&
	    s->kind != EXEC_PROCESS)
		return err_set(e, ERR_ARG, 0, "session");
	if ((s->flags & KF_FORKED) != 0 &&
	    (s->kind != EXEC_KERNEL || (s->flags & ~spare) != KF_FORKED ||
	     s->stdin_len > 0))
		return err_set(e, ERR_ARG, 0, "forked");
	return ERR_NONE;
}

/* Pipes and control for a kernel that a zygote is to fork. */
static enum err start_hand(struct exec *x, const struct keeper_start *s,
			   struct errinfo *e)
{
	static const int none[3] = {-1, -1, -1};
	OWN(stdio_close) struct stdio io = {.fds = {-1, -1, -1, -1}};
	OWN(buf_free) struct buf b = BUF_INIT(KERNEL_PAYLOAD_MAX);
	enum err r = open_stdio(x, s, none, &io, e);

	if (r != ERR_NONE)
		return r;
	if ((s->flags & KF_SPARE) != 0) {
		r = fork_spare(x, s, e);
		if (r != ERR_NONE)
			return r;
	} else {
		put_begin(&b, s);
		if (!buf_ok(&b))
			return err_set(e, ERR_LIMIT, 0, "environment too long");
		kernel_begin(x, &b);
	}
	x->forked = true;
	x->nhand = io.nfds;
	for (int i = 0; i < io.nfds; i++)
		x->hand[i] = STEAL_FD(io.fds[i]);
	return ERR_NONE;
}

static enum err start_claim(struct keeper *k, const struct keeper_start *s,
			    struct exec **out, struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(KERNEL_PAYLOAD_MAX);

	put_begin(&b, s);
	if (!buf_ok(&b))
		return err_set(e, ERR_LIMIT, 0, "environment too long");
	return fork_claim(k, s, &b, out, e);
}

static enum err start_send(struct exec *x, const struct keeper_start *s,
			   const int given[3], struct errinfo *e)
{
	OWN(stdio_close) struct stdio io = {.fds = {-1, -1, -1, -1}};
	OWN(buf_free) struct buf b = BUF_INIT(INIT_PAYLOAD_MAX);
	enum err r = put_spawn(&b, s, e);

	if (r == ERR_NONE)
		r = open_stdio(x, s, given, &io, e);
	if (r == ERR_NONE && x->in_fd >= 0)
		r = exec_stdin(x, s->stdin_data, s->stdin_len,
			       (s->flags & KF_STDIN_OPEN) == 0, e);
	if (r != ERR_NONE)
		return r;
	if (s->session[0] != '\0')
		return session_enter(x, s->session, &b, io.fds, e);
	r = init_link_spawn(x->keeper, x->tag, &b, io.fds, io.nfds, e);
	for (int i = 0; i < WIRE_FDS_MAX && r == ERR_NONE; i++)
		io.fds[i] = -1;
	if (r == ERR_NONE)
		exec_start_limit(x);
	return r;
}

enum err exec_start(struct keeper *k, const struct keeper_start *s,
		    const int *fds, int nfds, struct exec **out,
		    struct errinfo *e)
{
	OWN(own_mem) const char **args = NULL;
	struct keeper_start wrapped;
	int given[3];
	struct exec *x = NULL;
	enum err r = start_check(s, e);

	if (r == ERR_NONE && !given_fds(s->flags, fds, nfds, given))
		r = err_set(e, ERR_ARG, 0, "descriptors");
	if (r == ERR_NONE && (s->flags & KF_CLAIM) != 0)
		return start_claim(k, s, out, e);
	if (r == ERR_NONE)
		r = exec_new(k, s->id, s->kind, s->ring_bytes, &x, e);
	if (r != ERR_NONE)
		return r;
	x->flags = s->flags;
	x->timeout_ms = s->timeout_ms;
	x->grace_ms = s->grace_ms;
	x->output_max = s->output_max;
	if ((s->flags & KF_FORKED) != 0)
		r = start_hand(x, s, e);
	else if (s->session[0] == '\0')
		r = start_send(x, s, given, e);
	else if (session_wrap(s, &wrapped, &args))
		r = start_send(x, &wrapped, given, e);
	else
		r = err_set(e, ERR_NOMEM, 0, "session");
	if (r != ERR_NONE) {
		exec_free(x);
		return r;
	}
	if (k->gone) /* that was found out right now; it has its END */
		return err_set(e, ERR_GONE, 0, "sandbox");
	*out = x;
	return ERR_NONE;
}
