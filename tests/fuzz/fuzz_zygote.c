/*
 * What a zygote says to the broker: datagrams after one another, each of a
 * byte that tells its size and how many descriptors come along, and 32 bytes
 * (or what is left). Who waits is answered once, and well only if both parts
 * of the answer came for it; no descriptor stays.
 */
#include <fcntl.h>

#include "sandbox/zygote.c"      /* for what it hears … */
#include "sandbox/zygote_door.c" /* … and who waits for that */
#include "tests/fuzz/fuzz.h"

#define DOORS 3 /* serials 1 to 3; the last one waits for another zygote */
#define ID "s00000fuzzfuzzfuzzfuz0"

static struct broker broker;
static struct zygotes all;
static struct live live;
static struct zygote zygotes[2];
static int worker[DOORS]; /* who waits */
static int speaker;       /* the zygote's end */

/* What was said of each serial. */
static struct said {
	bool forked;
	bool entered;
	bool failed;
} said[DOORS + 1];

static void pair(int type, int fds[2])
{
	must(socketpair(AF_UNIX, type, 0, fds) == 0);
}

static void add_door(int i)
{
	struct zygote_door *d = calloc(1, sizeof(*d));
	int fds[2];

	must(d != NULL);
	pair(SOCK_SEQPACKET, fds);
	*d = (struct zygote_door){.all = &all,
				  .watch = {.fd = fds[0]},
				  .zygote = &zygotes[i == DOORS - 1],
				  .serial = (uint64_t)i + 1,
				  .listener = -1,
				  .id = ID,
				  .next = all.doors};
	all.doors = d;
	all.ndoors++;
	worker[i] = fds[1];
}

static void open_all(void)
{
	struct zygote_line *l = &all.lines[0];
	struct errinfo e;
	int fds[2];

	memset(&broker, 0, sizeof(broker));
	memset(&all, 0, sizeof(all));
	memset(said, 0, sizeof(said));
	must(loop_open(&broker.loop, &e) == ERR_NONE);
	live.broker = &broker;
	live.state = LIVE_RUNNING;
	memcpy(live.id, ID, sizeof(live.id));
	broker.lives = &live;
	all.broker = &broker;
	l->all = &all;
	l->row = &rows[0];
	l->image = "host";
	pair(SOCK_SEQPACKET, fds);
	speaker = fds[1];
	for (int i = 0; i < 2; i++)
		zygotes[i] = (struct zygote){.line = l,
					     .state = i == 0 ? ZYGOTE_WARMING
							     : ZYGOTE_SERVING,
					     .say = {.fd = -1},
					     .end = {.fd = -1}};
	zygotes[0].say.fd = fds[0];
	zygotes[0].next = &zygotes[1];
	l->zygotes = zygotes;
	for (int i = 0; i < DOORS; i++)
		add_door(i);
}

static void close_all(void)
{
	while (all.doors != NULL)
		door_close(all.doors);
	for (int i = 0; i < DOORS; i++)
		close(worker[i]);
	for (int i = 0; i < 2; i++)
		loop_timer_del(&broker.loop, &zygotes[i].timer);
	close(zygotes[0].say.fd);
	close(speaker);
	loop_close(&broker.loop);
}

static void post(size_t nfds, const void *p, size_t n)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(4 * sizeof(int))];
	} control = {0};
	char copy[64];
	struct iovec v = {.iov_base = copy, .iov_len = n};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

	must(n <= sizeof(copy));
	memcpy(copy, p, n);
	if (nfds > 0) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		control.head = (struct cmsghdr){
		    .cmsg_level = SOL_SOCKET,
		    .cmsg_type = SCM_RIGHTS,
		    .cmsg_len = CMSG_LEN(nfds * sizeof(int))};
	}
	must(sendmsg(speaker, &m, MSG_NOSIGNAL) == (ssize_t)n);
}

static void note(const struct zygote_say *s)
{
	if (s->magic != ZYGOTE_MAGIC || s->sys > 4096 || s->serial == 0 ||
	    s->serial >= DOORS)
		return;
	said[s->serial].forked |= s->what == ZYGOTE_FORKED;
	said[s->serial].entered |= s->what == ZYGOTE_ENTERED;
	said[s->serial].failed |= s->what == ZYGOTE_FAILED;
}

/* At most one answer, and no better one than was said. */
static void hear_answer(int i)
{
	const struct said *s = &said[i + 1];
	struct fork_reply r;
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec v = {.iov_base = &r, .iov_len = sizeof(r)};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(worker[i], &m, MSG_DONTWAIT);
	struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m);
	int fd;

	if (c != NULL) {
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
		close(fd);
	}
	must(n == sizeof(r) || (n < 0 && errno == EAGAIN));
	if (n < 0)
		return;
	must(i < DOORS - 1 && r.magic == FORK_MAGIC);
	must(r.err == ERR_NONE ? s->forked && s->entered
			       : s->failed && c == NULL);
	must(recv(worker[i], &r, sizeof(r), MSG_DONTWAIT) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	int first = dup(0), again;

	close(first);
	open_all();
	for (size_t at = 0; at < n && at < 4096;) {
		uint8_t how = data[at++];
		size_t size = (how & 4) != 0 ? 33 : (how & 8) != 0 ? 7 : 32;
		struct zygote_say s[2] = {{0}};

		memcpy(s, data + at, n - at < size ? n - at : size);
		at += n - at < size ? n - at : size;
		if (size == 32)
			note(s);
		post(how & 3, s, size);
		on_say(&zygotes[0], EPOLLIN);
	}
	for (int i = 0; i < DOORS; i++)
		hear_answer(i);
	close_all();
	again = dup(0);
	close(again);
	must(again == first);
	return 0;
}
