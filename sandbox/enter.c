#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/init_msg.h"
#include "sandbox/enter.h"
#include "sandbox/fd_check.h"
#include "sandbox/filter.h"
#include "sandbox/init_confine.h"
#include "sandbox/landlock.h"
#include "sandbox/limits.h"
#include "sandbox/zygote_msg.h"

#define EXPORT __attribute__((visibility("default")))
#define FD_HIGH 64
#define KERNEL_FDS 4
_Static_assert(KERNEL_FDS + 1 == ENTER_KEEP_MIN, "order of descriptors");
_Static_assert(FD_HIGH == 64, "a mask");
#define ENTER_NAMESPACES                                                       \
	(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |            \
	 CLONE_NEWCGROUP)

static struct sock_filter filters[2 * BPF_MAXINSNS];
static struct sock_fprog plain, counting;
static int own_pid_ns = -1;

static uint64_t kept; /* see enter_keep() */

/* The request at hand: a zygote serves one at a time. */
static struct zygote_req request;
/* pidfd, four of the kernel's, cgroups; and one more: the kernel fills the
 * room that is there, which is a multiple of two. */
static int fds[ZYGOTE_FDS_MAX + 1];
_Static_assert(sizeof(fds) % sizeof(size_t) == 0, "no room beyond it");
static int nfds;

/* How the middle child ended: it shares our memory. */
static volatile pid_t forked;
static volatile int fork_errno;

/* ---- talking to the broker ---- */

static int say(int to, enum zygote_what what, uint32_t pid,
	       enum zygote_step step)
{
	struct zygote_say s = {
	    .magic = ZYGOTE_MAGIC,
	    .what = what,
	    .serial = request.serial,
	    .pid = pid,
	    .step = step,
	    .sys = what == ZYGOTE_FAILED ? (uint32_t)errno : 0,
	};

	return send(to, &s, sizeof(s), MSG_NOSIGNAL) == sizeof(s) ? 0 : -1;
}

static void drop_fds(void)
{
	for (int i = 0; i < nfds; i++)
		close(fds[i]);
	nfds = 0;
}

static bool read_filters(void)
{
	struct zygote_filters head;
	size_t n;

	if (pread(ZYGOTE_FD_FILTER, &head, sizeof(head), 0) != sizeof(head) ||
	    head.plain == 0 || head.plain > BPF_MAXINSNS ||
	    head.counting == 0 || head.counting > BPF_MAXINSNS)
		return false;
	n = (head.plain + head.counting) * sizeof(filters[0]);
	if (pread(ZYGOTE_FD_FILTER, filters, n, sizeof(head)) != (ssize_t)n)
		return false;
	plain = (struct sock_fprog){.len = (unsigned short)head.plain,
				    .filter = filters};
	counting = (struct sock_fprog){.len = (unsigned short)head.counting,
				       .filter = filters + head.plain};
	return true;
}

EXPORT int enter_open(void)
{
	if (fcntl(ZYGOTE_FD_BROKER, F_SETFD, FD_CLOEXEC) < 0 || !read_filters())
		return -1;
	close(ZYGOTE_FD_FILTER);
	own_pid_ns = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	/* Its memory is nobody's to read, nor that of its children. */
	return own_pid_ns < 0 ? -1 : prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

EXPORT int enter_ready(void)
{
	return say(ZYGOTE_FD_BROKER, ZYGOTE_READY, 0, ZYGOTE_STEP_NONE);
}

/* Take descriptors out of a message; false: not what was agreed. */
static bool take_fds(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);

	nfds = 0;
	if (c == NULL || c->cmsg_level != SOL_SOCKET ||
	    c->cmsg_type != SCM_RIGHTS)
		return false;
	nfds = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(fds, CMSG_DATA(c), (size_t)nfds * sizeof(int));
	return (m->msg_flags & (MSG_CTRUNC | MSG_TRUNC)) == 0 &&
	       nfds >= ZYGOTE_FDS_MIN && nfds <= ZYGOTE_FDS_MAX;
}

/* What a test wants to fail at, in debug builds. */
static uint32_t broken;

static bool breaks(enum zygote_step step)
{
	if (broken != step)
		return false;
	errno = EIO;
	return true;
}

static bool request_ok(ssize_t n)
{
#ifndef NDEBUG
	broken = request.user >> ZYGOTE_BROKEN_SHIFT;
	request.user &= (1U << ZYGOTE_BROKEN_SHIFT) - 1;
#endif
	return n == sizeof(request) && request.magic == ZYGOTE_MAGIC &&
	       request.user <= INIT_USER_SANDBOX &&
	       request.language[ZYGOTE_LANGUAGE_MAX] == '\0';
}

EXPORT int enter_wait(void)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(fds))];
	} control;
	struct iovec v = {.iov_base = &request, .iov_len = sizeof(request)};
	struct msghdr m;
	ssize_t n;

	for (;;) {
		m = (struct msghdr){.msg_iov = &v,
				    .msg_iovlen = 1,
				    .msg_control = &control,
				    .msg_controllen = sizeof(control)};
		n = recvmsg(ZYGOTE_FD_BROKER, &m, MSG_CMSG_CLOEXEC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		if (take_fds(&m) && request_ok(n))
			return 0;
		drop_fds();
		errno = EINVAL;
		if (say(ZYGOTE_FD_BROKER, ZYGOTE_FAILED, 0,
			ZYGOTE_STEP_REQUEST) < 0)
			return -1;
	}
}

EXPORT void enter_keep(uint64_t mask)
{
	kept = mask >> ENTER_KEEP_MIN << ENTER_KEEP_MIN;
}

EXPORT const char *enter_language(void)
{
	return request.language;
}

/* ---- in the child ---- */

/* 0 to 3 are the kernel's, 4 leads to the broker still (${broker}, from the
 * moment on that it does); others are not, but for those that are kept. */
static bool arrange_fds(int *broker)
{
	int up[KERNEL_FDS + 1];

	for (int i = 0; i <= KERNEL_FDS; i++) {
		up[i] = fcntl(i < KERNEL_FDS ? fds[1 + i] : ZYGOTE_FD_BROKER,
			      F_DUPFD_CLOEXEC, FD_HIGH);
		if (up[i] < 0)
			return false;
	}
	if (dup3(up[KERNEL_FDS], KERNEL_FDS, O_CLOEXEC) < 0)
		return false;
	*broker = KERNEL_FDS;
	for (int i = 0; i < KERNEL_FDS; i++)
		if (dup2(up[i], i) < 0)
			return false;
	for (int fd = ENTER_KEEP_MIN; fd < FD_HIGH; fd++)
		if ((kept >> fd & 1) == 0)
			close(fd);
	/* What a test breaks here is found, not told. */
	return close_range(FD_HIGH, ~0U, 0) == 0 &&
	       (!breaks(ZYGOTE_STEP_FDS) || dup(0) >= 0) &&
	       fd_check_own(FD_CHECK_FIRST(KERNEL_FDS + 1) | kept, false);
}

/* The listener of our filter is init's to serve; until it does, nothing here
 * makes a call that it is asked about. */
static bool hand_over(int listener)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.head = {.cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS,
			      .cmsg_len = CMSG_LEN(sizeof(int))}};
	struct zygote_say s = {.magic = ZYGOTE_MAGIC,
			       .what = ZYGOTE_LISTENER,
			       .serial = request.serial};
	struct iovec v = {.iov_base = &s, .iov_len = sizeof(s)};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	bool sent;

	if (listener < 0)
		return true;
	memcpy(CMSG_DATA(&control.head), &listener, sizeof(listener));
	sent = sendmsg(ZYGOTE_FD_BROKER, &m, MSG_NOSIGNAL) == sizeof(s);
	close(listener);
	return sent;
}

static enum zygote_step enter(void)
{
	int listener;

	for (int i = ZYGOTE_FDS_MIN - 1; i < nfds; i++)
		if (breaks(ZYGOTE_STEP_CGROUP) || write(fds[i], "0", 1) != 1)
			return ZYGOTE_STEP_CGROUP;
	if (breaks(ZYGOTE_STEP_NAMESPACES) ||
	    setns(fds[0], ENTER_NAMESPACES) < 0)
		return ZYGOTE_STEP_NAMESPACES;
	if (breaks(ZYGOTE_STEP_KEYRING) || limits_keyring() < 0)
		return ZYGOTE_STEP_KEYRING;
	if (breaks(ZYGOTE_STEP_USER_NS) || setgroups(0, NULL) < 0 ||
	    setns(fds[0], CLONE_NEWUSER) < 0)
		return ZYGOTE_STEP_USER_NS;
	/* Init has the sandbox's. */
	if (breaks(ZYGOTE_STEP_RLIMITS) || limits_copy(1) < 0)
		return ZYGOTE_STEP_RLIMITS;
	/* As init's children: its filter first, then what only they lose. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    breaks(ZYGOTE_STEP_LANDLOCK) || landlock_confine(-1, -1) < 0)
		return ZYGOTE_STEP_LANDLOCK;
	if (breaks(ZYGOTE_STEP_FILTER) ||
	    filter_load_counting(&counting, &plain, &listener) < 0 ||
	    !hand_over(listener))
		return ZYGOTE_STEP_FILTER;
	setsid();
	umask(022);
	limits_signals(false);
	return ZYGOTE_STEP_NONE;
}

static void become_kernel(void)
{
	int broker = ZYGOTE_FD_BROKER;
	enum zygote_step step = enter();

	if (step == ZYGOTE_STEP_NONE && !arrange_fds(&broker))
		step = ZYGOTE_STEP_FDS;
	if (step == ZYGOTE_STEP_NONE &&
	    (breaks(ZYGOTE_STEP_CONFINE) ||
	     !init_confine_child((uint8_t)request.user, false)))
		step = ZYGOTE_STEP_CONFINE;
	if (step != ZYGOTE_STEP_NONE) {
		say(broker, ZYGOTE_FAILED, 0, step);
		_exit(126);
	}
	if (say(broker, ZYGOTE_ENTERED, (uint32_t)getpid(), ZYGOTE_STEP_NONE) <
	    0)
		_exit(126);
	close(broker);
	nfds = 0;
}

EXPORT int enter_show(void)
{
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* ---- in the zygote ---- */

/*
 * A child in the sandbox's PID namespace that shares our memory while we
 * stand still: its only act is to fork the real child, and to end, so that
 * the sandbox's init becomes the real one's parent. It joins nothing else:
 * no process of the sandbox can signal or see into it, and none of the
 * sandbox's limits can stop it (and so us).
 */
static int fork_between(void)
{
	pid_t middle;
	int status;

	forked = -1;
	fork_errno = EIO;
	if (breaks(ZYGOTE_STEP_FORK)) {
		fork_errno = errno;
		return 0;
	}
	middle = vfork();
	if (middle < 0) {
		fork_errno = errno;
		return 0;
	}
	if (middle == 0) {
		pid_t child = fork();

		if (child == 0)
			return 1;
		fork_errno = errno;
		forked = child;
		_exit(0);
	}
	while (waitpid(middle, &status, 0) < 0 && errno == EINTR)
		continue;
	return 0;
}

EXPORT int enter_fork(void)
{
	if (breaks(ZYGOTE_STEP_PID_NS) || setns(fds[0], CLONE_NEWPID) < 0) {
		say(ZYGOTE_FD_BROKER, ZYGOTE_FAILED, 0, ZYGOTE_STEP_PID_NS);
		drop_fds();
		return 0;
	}
	if (fork_between() == 1) {
		become_kernel();
		return 1;
	}
	if (setns(own_pid_ns, CLONE_NEWPID) < 0)
		_exit(125); /* a zygote that forks into a tenant's is no use */
	errno = fork_errno;
	if (forked > 0)
		say(ZYGOTE_FD_BROKER, ZYGOTE_FORKED, (uint32_t)forked,
		    ZYGOTE_STEP_NONE);
	else
		say(ZYGOTE_FD_BROKER, ZYGOTE_FAILED, 0, ZYGOTE_STEP_FORK);
	drop_fds();
	return 0;
}
