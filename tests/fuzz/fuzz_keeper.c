/*
 * A whole keeper, its init and its kernel being the input: pieces of
 * (to whom, length, bytes), written to the one or the other in turn, or sleeps
 * and wakes between them. A client has started a program, a kernel and a run in
 * it. Whatever those said, when the sandbox has ended each of the three has
 * ended once, or was refused once (and may have its end, too, if the sandbox
 * ended before it began), and nothing is left allocated.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/init_msg.h"
#include "base/kernel_msg.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/keeper_client.h"
#include "sandbox/keeper_exec.h"
#include "sandbox/keeper_init.h"
#include "tests/fuzz/fuzz.h"

enum { CALL = 1, KERNEL, RUN, STARTS }; /* tags of the client's requests */
enum { TO_INIT, TO_KERNEL, TO_SLEEP, TO_COUNT };

struct world {
	struct keeper k;
	struct loop_watch drive;  /* of what can always be read */
	int init, kernel, client; /* the other ends; -1: closed */
	int of_keeper;            /* its own end to init */
	struct wire_rx init_rx, client_rx;
	const uint8_t *p, *end;
	bool started[STARTS];
	int ends[STARTS];
	bool refused[STARTS];
};

static int listening = -1, null_fd = -1, never_fd, always_fd, freeze_fd;
static struct sockaddr_un address = {.sun_family = AF_UNIX};

static void once(void)
{
	if (listening >= 0)
		return;
	log_open("fuzz", LOG_ERROR);
	/* Abstract: no file to remove. */
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
		 "warren-fuzz-%d", (int)getpid());
	listening = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	must(bind(listening, (struct sockaddr *)&address, sizeof(address)) ==
		 0 &&
	     listen(listening, 8) == 0);
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	never_fd = eventfd(0, EFD_CLOEXEC);
	always_fd = eventfd(1, EFD_CLOEXEC);
	freeze_fd = memfd_create("freeze", MFD_CLOEXEC);
	must(null_fd >= 0 && never_fd >= 0 && always_fd >= 0 && freeze_fd >= 0);
}

static void on_listen(void *arg, uint32_t events)
{
	(void)events;
	client_accept(arg);
}

static void say(int fd, uint16_t type, uint32_t tag, const struct buf *b)
{
	struct errinfo e;

	must(wire_send_fds(fd, type, tag, b, (struct wire_fds){NULL, 0},
			   clock_mono_ms() + 1000, &e) == ERR_NONE);
}

/* ---- the client ---- */

static void ask_start(int fd, const char *id, enum exec_kind kind, uint32_t tag)
{
	static const char *const argv[] = {"x", NULL};
	OWN(buf_free) struct buf b = BUF_INIT(4096);
	const struct keeper_start s = {.id = id,
				       .kind = kind,
				       .flags = KF_ATTACH,
				       .ring_bytes = 65536,
				       .user = "",
				       .cwd = "",
				       .argv = argv,
				       .argc = 1,
				       .stdin_data = ""};

	keeper_put_start(&b, &s);
	say(fd, KM_START, tag, &b);
}

static void ask_run(int fd)
{
	OWN(buf_free) struct buf b = BUF_INIT(4096);

	wire_str(&b, "k");
	wire_str(&b, "r");
	wire_u32(&b, KF_ATTACH);
	wire_u64(&b, 0);
	wire_u64(&b, 65536);
	wire_bytes(&b, "{}", 2);
	say(fd, KM_RUN, RUN, &b);
}

/* What the keeper tells its client; each ends but once. */
static void client_reads(struct world *w)
{
	struct keeper_event ev;
	struct wire_msg *m;
	bool more = true;
	enum err r = wire_rx_fill(&w->client_rx, w->client, &more, NULL);

	must(r == ERR_NONE || r == ERR_PEER);
	while (wire_rx_next(&w->client_rx, &m, NULL) == ERR_NONE && m != NULL) {
		if (m->tag == STARTS) { /* of a sleep or a wake */
			must(m->type == KM_STATE_IS || m->type == KM_REFUSED);
			continue;
		}
		must(m->tag > 0 && m->tag < STARTS);
		if (m->type == KM_STARTED) {
			must(!w->started[m->tag] && !w->refused[m->tag]);
			w->started[m->tag] = true;
			if (m->tag == KERNEL)
				ask_run(w->client);
		} else if (m->type == KM_REFUSED) {
			must(!w->started[m->tag] && !w->refused[m->tag]);
			w->refused[m->tag] = true;
		} else if (m->type == KM_EVENT) {
			must(keeper_get_event(m, &ev, NULL) == ERR_NONE);
			must(w->started[m->tag] || w->refused[m->tag]);
			must(w->ends[m->tag] == 0);
			w->ends[m->tag] += ev.kind == EVENT_END;
		} else {
			must(m->type == KM_GAP);
		}
	}
}

/* ---- init, as far as it is not the input ---- */

static void init_reads(struct world *w)
{
	OWN(buf_free) struct buf pid = BUF_INIT(4);
	struct wire_msg *m;
	bool more = true;

	wire_u32(&pid, 6);
	if (w->init < 0 ||
	    wire_rx_fill(&w->init_rx, w->init, &more, NULL) != ERR_NONE)
		return;
	while (wire_rx_next(&w->init_rx, &m, NULL) == ERR_NONE && m != NULL)
		/* Of the kernel's descriptors the fourth is its control. */
		if (m->type == IM_SPAWN && m->nfds == 4 && w->kernel < 0) {
			w->kernel = STEAL_FD(m->fds[3]);
			say(w->init, IM_SPAWNED, m->tag, &pid);
		}
}

/* ---- the input ---- */

static void put(int fd, const uint8_t *p, size_t n)
{
	if (fd >= 0)
		(void)!send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void sleep_or_wake(struct world *w, bool sleep)
{
	OWN(buf_free) struct buf b = BUF_INIT(16);

	wire_u8(&b, KEEPER_SLEEP_ANY);
	wire_i64(&b, 0);
	say(w->client, sleep ? KM_SLEEP : KM_WAKE, STARTS, sleep ? &b : NULL);
}

static void on_drive(void *arg, uint32_t events)
{
	struct world *w = arg;
	uint8_t to, n;

	(void)events;
	init_reads(w);
	client_reads(w);
	/* The kernel begins well, else there was no run. */
	if (!w->started[RUN])
		return;
	if (w->end - w->p >= 2) {
		to = *w->p++ % TO_COUNT;
		n = *w->p++;
		if (to == TO_SLEEP) {
			sleep_or_wake(w, n % 2 == 0);
			return;
		}
		if (n > w->end - w->p)
			n = (uint8_t)(w->end - w->p);
		put(to == TO_INIT ? w->init : w->kernel, w->p, n);
		w->p += n;
	} else {
		own_fd(&w->init); /* which ends the sandbox */
	}
}

/* ---- one life ---- */

static void world_open(struct world *w)
{
	struct keeper *k = &w->k;
	struct errinfo e;
	int s[2];

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
			s) == 0);
	w->init = s[0];
	w->of_keeper = s[1];
	k->null_fd = null_fd;
	k->warren_uid = getuid();
	must(loop_open(&k->loop, &e) == ERR_NONE &&
	     loop_add(&k->loop, &k->listen, listening, EPOLLIN, on_listen, k,
		      &e) == ERR_NONE &&
	     loop_add(&k->loop, &w->drive, always_fd, EPOLLIN, on_drive, w,
		      &e) == ERR_NONE &&
	     init_link_open(k, s[1], never_fd, &e) == ERR_NONE);
	w->client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(connect(w->client, (struct sockaddr *)&address, sizeof(address)) ==
	     0);
	wire_rx_init(&w->init_rx, INIT_PAYLOAD_MAX);
	wire_rx_init(&w->client_rx, KEEPER_PAYLOAD_MAX);
	ask_start(w->client, "a", EXEC_CALL, CALL);
	ask_start(w->client, "k", EXEC_KERNEL, KERNEL);
}

static void on_over(void *arg, uint32_t events)
{
	struct world *w = arg;

	(void)events;
	if (w->k.clients == NULL)
		loop_stop(&w->k.loop);
}

/* The goodbyes were said; now what the keeper leaves to its exit. */
static void world_close(struct world *w)
{
	struct keeper *k = &w->k;

	client_reads(w);
	own_fd(&w->client);
	own_fd(&w->init);
	own_fd(&w->kernel);
	loop_timer_del(&k->loop, &k->sweep);
	w->drive.fn = on_over;
	loop_run(&k->loop);
	while (k->execs != NULL)
		exec_free(k->execs);
	must(k->spawns == NULL); /* the link carries two */
	own_fd(&w->of_keeper);
	wire_rx_free(&k->init_rx);
	wire_tx_free(&k->init_tx);
	wire_rx_free(&w->init_rx);
	wire_rx_free(&w->client_rx);
	loop_close(&k->loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct world w = {
	    .k = {.listen = LOOP_WATCH_INIT,
		  .init = LOOP_WATCH_INIT,
		  .init_end = LOOP_WATCH_INIT,
		  .usage = USAGE_FDS_NONE},
	    .drive = LOOP_WATCH_INIT,
	    .init = -1,
	    .kernel = -1,
	    .client = -1,
	    .p = data,
	    .end = data + n,
	};

	once();
	w.k.usage.fd[USAGE_FREEZE] = freeze_fd;
	world_open(&w);
	loop_run(&w.k.loop);
	world_close(&w);
	for (int i = 1; i < STARTS; i++)
		must(w.refused[i] || w.ends[i] == 1);
	return 0;
}
