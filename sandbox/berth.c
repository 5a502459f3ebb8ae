#include <errno.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <sched.h>
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
#include "sandbox/limits.h"

/* What the process of a namespace that is made does first, in the child. */
typedef int make_fn(uint32_t slot);

static int open_ns(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int put_map(pid_t pid, const char *file, const char *text)
{
	char path[64];
	OWN(own_fd) int fd = -1;
	size_t n = strlen(text);

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	return write(fd, text, n) == (ssize_t)n ? 0 : -1;
}

static int put_sysctl(const char *path, const char *text)
{
	OWN(own_fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t n = strlen(text);

	return fd >= 0 && write(fd, text, n) == (ssize_t)n ? 0 : -1;
}

/* A fresh network: loopback up, low ports and ping for everyone in there. */
static int make_net(uint32_t slot)
{
	struct ifreq r = {.ifr_flags = IFF_UP};
	OWN(own_fd) int s = -1;

	(void)slot;
	if (unshare(CLONE_NEWNET) < 0)
		return -1;
	s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	memcpy(r.ifr_name, "lo", 3);
	if (s < 0 || ioctl(s, SIOCSIFFLAGS, &r) < 0)
		return -1;
	if (put_sysctl("/proc/sys/net/ipv4/ping_group_range", "0 2147483647") <
	    0)
		return -1;
	return put_sysctl("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
}

/*
 * A user namespace counts some things (inotify instances, message queues,
 * pending signals) for its maker too. Made by an id of its slot alone, no
 * sandbox can use up what another needs.
 */
static int make_map(uint32_t slot)
{
	uint32_t owner = BERTH_OWNER_BASE + slot;

	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0 ||
	    syscall(SYS_setresuid, -1, owner, -1) < 0)
		return -1;
	return unshare(CLONE_NEWUSER);
}

static int make_user(uint32_t slot)
{
	return make_map(slot) < 0 ? -1 : limits_user();
}

noreturn static void make_child(make_fn *make, uint32_t slot, int said,
				int hold)
{
	char c;

	if (make(slot) < 0 || write(said, "y", 1) != 1)
		_exit(1);
	_exit(read(hold, &c, 1) == 0 ? 0 : 1);
}

/* Namespaces that are being made, each by its only process. */
enum { MAKE_USER, MAKE_DISK, MAKE_NET, MAKE_COUNT };

struct making {
	pid_t pid[MAKE_COUNT];
	int said[MAKE_COUNT]; /* one byte: it is there */
	int hold;             /* closed: all of them end */
};

static void making_close(struct making *m)
{
	own_fd(&m->hold);
	for (int i = 0; i < MAKE_COUNT; i++) {
		own_fd(&m->said[i]);
		if (m->pid[i] > 0)
			waitpid(m->pid[i], NULL, 0);
	}
}

static bool ns_begin(struct making *m, int which, make_fn *make, uint32_t slot,
		     int hold)
{
	int said[2];

	if (pipe2(said, O_CLOEXEC) < 0)
		return false;
	m->pid[which] = fork();
	if (m->pid[which] == 0) {
		close(m->hold);
		make_child(make, slot, said[1], hold);
	}
	close(said[1]);
	m->said[which] = said[0];
	return m->pid[which] > 0;
}

/* All at once: each has to wait for its process to run. */
static bool all_begin(struct making *m, uint32_t slot)
{
	OWN(own_fd) int hold = -1;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return false;
	hold = fds[0];
	m->hold = fds[1];
	return ns_begin(m, MAKE_NET, make_net, slot, hold) &&
	       ns_begin(m, MAKE_USER, make_user, slot, hold) &&
	       ns_begin(m, MAKE_DISK, make_map, slot, hold);
}

/* Its descriptor, with ${map} if it is a user's; -1. */
static int ns_end(const struct making *m, int which, const char *name,
		  const char *map)
{
	pid_t pid = m->pid[which];
	char c;

	if (read(m->said[which], &c, 1) != 1)
		return -1;
	if (map != NULL && (put_map(pid, "uid_map", map) < 0 ||
			    put_map(pid, "gid_map", map) < 0))
		return -1;
	return open_ns(pid, name);
}

void berth_close(struct berth *b)
{
	own_fd(&b->user_ns);
	own_fd(&b->disk_ns);
	own_fd(&b->net_ns);
	spawn_husk_end(&b->husk);
}

enum err berth_make(uint32_t slot, struct berth *b, struct errinfo *e)
{
	OWN(berth_close) struct berth n = BERTH_NONE;
	OWN(making_close)
	struct making m = {.said = {-1, -1, -1}, .hold = -1};
	char map[96];

	n.slot = slot;
	if (!all_begin(&m, slot))
		return err_set(e, ERR_IO, errno, "namespaces for a slot");
	snprintf(map, sizeof(map), "0 %u %u\n", berth_uid(slot, 0), BERTH_IDS);
	n.user_ns = ns_end(&m, MAKE_USER, "user", map);
	/* Overlay's own work files belong to id 0, on disk and above. */
	snprintf(map, sizeof(map), "0 0 1\n%u %u %u\n", BERTH_DISK_BASE,
		 berth_uid(slot, 0), BERTH_IDS);
	n.disk_ns = ns_end(&m, MAKE_DISK, "user", map);
	n.net_ns = ns_end(&m, MAKE_NET, "net", NULL);
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
	uint32_t slot;
	enum err r;

	if (pool->nready > 0) {
		*b = pool->ready[--pool->nready];
		return ERR_NONE;
	}
	if (!berth_claim(pool, &slot))
		return err_set(e, ERR_LIMIT, 0, "all slots are taken");
	r = berth_make(slot, b, e);
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
