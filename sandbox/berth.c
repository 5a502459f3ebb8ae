#include <errno.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/berth.h"
#include "sandbox/inject.h"
#include "sandbox/limits.h"

#define STACK_BYTES 32768

/* What the process of a user namespace does first, in the child. */
typedef int make_fn(uint32_t slot, int proc);

static int put_file(int dir, const char *path, const char *text)
{
	OWN(own_fd) int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	size_t n = strlen(text);

	return fd >= 0 && write(fd, text, n) == (ssize_t)n ? 0 : -1;
}

/* ---- the network ---- */

/* Loopback up, low ports and ping for everyone in there. */
static int fit_net(int proc)
{
	struct ifreq r = {.ifr_flags = IFF_UP};
	OWN(own_fd) int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(r.ifr_name, "lo", 3);
	if (s < 0 || ioctl(s, SIOCSIFFLAGS, &r) < 0)
		return -1;
	if (put_file(proc, "sys/net/ipv4/ping_group_range", "0 2147483647") < 0)
		return -1;
	return put_file(proc, "sys/net/ipv4/ip_unprivileged_port_start", "0");
}

/* By a visit: a process for that alone would cost as much again. */
static int make_net(int proc)
{
	OWN(own_fd)
	int home = openat(proc, "self/ns/net", O_RDONLY | O_CLOEXEC);
	OWN(own_fd) int net = -1;

	if (home < 0 || unshare(CLONE_NEWNET) < 0)
		return -1;
	if (!inject_at(INJECT_BERTH_NET) && fit_net(proc) == 0)
		net = openat(proc, "self/ns/net", O_RDONLY | O_CLOEXEC);
	must(setns(home, CLONE_NEWNET) == 0);
	return STEAL_FD(net);
}

/* ---- user namespaces ---- */

/*
 * A user namespace counts some things (inotify instances, message queues,
 * pending signals) for its maker too. Made by an id of its slot alone, no
 * sandbox can use up what another needs.
 */
static int make_map(uint32_t slot, int proc)
{
	uint32_t owner = BERTH_OWNER_BASE + slot;

	(void)proc;
	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0 ||
	    syscall(SYS_setresuid, -1, owner, -1) < 0)
		return -1;
	return unshare(CLONE_NEWUSER);
}

static int make_user(uint32_t slot, int proc)
{
	return make_map(slot, proc) < 0 ? -1 : limits_user(proc);
}

/* Namespaces that are being made, each by its only process. */
enum { MAKE_USER, MAKE_DISK, MAKE_COUNT };

struct making {
	uint32_t slot;
	int proc;
	int wait; /* its other end … */
	int hold; /* … closed: all of them end */
	struct making_one {
		const struct making *all;
		make_fn *make;
		pid_t pid;
		int said; /* one byte: it is there */
		int say;  /* its end of that, and … */
		int hold; /* … what it closes: numbers that stay */
	} of[MAKE_COUNT];
};

static void making_close(struct making *m)
{
	own_fd(&m->hold);
	own_fd(&m->wait);
	for (int i = 0; i < MAKE_COUNT; i++) {
		own_fd(&m->of[i].said);
		if (m->of[i].pid > 0)
			waitpid(m->of[i].pid, NULL, 0);
	}
}

/* In our memory, on a stack of its own: to copy all that for some calls would
 * be most of what a namespace costs. It only makes calls, and ends. */
__attribute__((no_sanitize_address)) static int making_main(void *arg)
{
	const struct making_one *one = arg;
	const struct making *m = one->all;
	char c;

	close(one->hold);
	if (one->make(m->slot, m->proc) < 0 || write(one->say, "y", 1) != 1)
		_exit(1);
	_exit(read(m->wait, &c, 1) == 0 ? 0 : 1);
}

/* All at once: each has to wait for its process to run. */
static bool making_begin(struct making *m)
{
	static const enum inject_point points[MAKE_COUNT] = {
	    [MAKE_USER] = INJECT_BERTH_USER, [MAKE_DISK] = INJECT_BERTH_DISK};
	static _Alignas(16) char stacks[MAKE_COUNT][STACK_BYTES];
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return false;
	m->wait = fds[0];
	m->hold = fds[1];
	for (int i = 0; i < MAKE_COUNT; i++) {
		struct making_one *one = &m->of[i];

		if (pipe2(fds, O_CLOEXEC) < 0)
			return false;
		one->all = m;
		one->said = fds[0];
		one->say = fds[1];
		one->hold = m->hold;
		one->pid = inject_at(points[i])
			       ? -1
			       : clone(making_main, stacks[i] + STACK_BYTES,
				       CLONE_VM | SIGCHLD, one);
		close(fds[1]);
		if (one->pid < 0)
			return false;
	}
	return true;
}

/* Its descriptor, with ${map}; -1. */
static int making_end(const struct making *m, int which, const char *map)
{
	const struct making_one *one = &m->of[which];
	char path[64], c;

	if (read(one->said, &c, 1) != 1)
		return -1;
	snprintf(path, sizeof(path), "%d/uid_map", (int)one->pid);
	if (inject_at(INJECT_BERTH_MAP) || put_file(m->proc, path, map) < 0)
		return -1;
	snprintf(path, sizeof(path), "%d/gid_map", (int)one->pid);
	if (put_file(m->proc, path, map) < 0)
		return -1;
	snprintf(path, sizeof(path), "%d/ns/user", (int)one->pid);
	return openat(m->proc, path, O_RDONLY | O_CLOEXEC);
}

void berth_close(struct berth *b)
{
	own_fd(&b->user_ns);
	own_fd(&b->disk_ns);
	own_fd(&b->net_ns);
	spawn_husk_end(&b->husk);
}

enum err berth_make(uint32_t slot, int proc, struct berth *b, struct errinfo *e)
{
	OWN(berth_close) struct berth n = BERTH_NONE;
	OWN(making_close)
	struct making m = {
	    .slot = slot,
	    .proc = proc,
	    .wait = -1,
	    .hold = -1,
	    .of = {[MAKE_USER] = {.make = make_user, .said = -1},
		   [MAKE_DISK] = {.make = make_map, .said = -1}}};
	char map[96];

	n.slot = slot;
	if (!making_begin(&m))
		return err_set(e, ERR_IO, errno, "namespaces for a slot");
	n.net_ns = make_net(m.proc);
	snprintf(map, sizeof(map), "0 %u %u\n", berth_uid(slot, 0), BERTH_IDS);
	n.user_ns = making_end(&m, MAKE_USER, map);
	/* Overlay's own work files belong to id 0, on disk and above. */
	snprintf(map, sizeof(map), "0 0 1\n%u %u %u\n", BERTH_DISK_BASE,
		 berth_uid(slot, 0), BERTH_IDS);
	n.disk_ns = making_end(&m, MAKE_DISK, map);
	if (n.user_ns < 0 || n.disk_ns < 0 || n.net_ns < 0)
		return err_set(e, ERR_IO, errno, "namespaces for a slot");
	*b = n;
	n = (struct berth)BERTH_NONE;
	return ERR_NONE;
}

bool berth_claim(struct berth_pool *pool, uint32_t *slot)
{
	for (uint32_t i = 0; i < BERTH_SLOTS; i++) {
		uint32_t s = (pool->next + i) % BERTH_SLOTS;

		if (pool->used[s])
			continue;
		pool->used[s] = 1;
		pool->next = (s + 1) % BERTH_SLOTS;
		*slot = s;
		return true;
	}
	return false;
}

enum err berth_take(struct berth_pool *pool, struct berth *b, struct errinfo *e)
{
	OWN(own_fd) int proc = -1;
	uint32_t slot;
	enum err r;

	if (pool->nready > 0) {
		*b = pool->ready[--pool->nready];
		return ERR_NONE;
	}
	if (!berth_claim(pool, &slot))
		return err_set(e, ERR_LIMIT, 0, "all slots are taken");
	proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = berth_make(slot, proc, b, e);
	if (r != ERR_NONE)
		berth_free_slot(pool, slot);
	return r;
}

void berth_give(struct berth_pool *pool, struct berth *b)
{
	if (pool->nready < BERTH_READY_MAX) {
		pool->ready[pool->nready++] = *b;
		return;
	}
	berth_close(b);
	berth_free_slot(pool, b->slot);
}

void berth_free_slot(struct berth_pool *pool, uint32_t slot)
{
	must(slot < BERTH_SLOTS);
	pool->used[slot] = 0;
}

void berth_mark_slot(struct berth_pool *pool, uint32_t slot)
{
	must(slot < BERTH_SLOTS);
	pool->used[slot] = 1;
}

void berth_pool_close(struct berth_pool *pool)
{
	while (pool->nready > 0)
		berth_close(&pool->ready[--pool->nready]);
}
