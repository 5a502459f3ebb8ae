/*
 * What the engine itself costs: broker and keeper asked directly, without
 * HTTP, a worker or a database.
 *
 * engine RUN_DIR WHAT [N]: prints one number a line, as engine.mjs reads it.
 *   first N      create + first `true`, its part for create, and bwrap: us
 *   churn N      a round each line: N sandboxes created and destroyed by 16
 *                clients: how many a second, what a client waits for each of
 *                both, and processor time of both, in ms; and how many bwrap
 *   idle N       a round each line: N idle sandboxes: bytes of one: cgroup,
 *                init, keeper, kernel
 *   kill N       a round each line: N sandboxes stopped at once, and N bwrap
 *                killed: ms until the last was gone
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/broker_msg.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/keeper_msg.h"
#include "base/log.h"
#include "base/own.h"
#include "tests/bench/engine.h"

#define CLIENTS 16
#define LIMIT_MS 30000
#define ROUNDS 7
#define IDLE_ROUNDS 5

static const char *run_dir;
static id_sandbox_t ids[ENGINE_MOST];

noreturn static void give_up(const char *what, const struct errinfo *e)
{
	fprintf(stderr, "engine: %s: %s\n", what, e->text);
	exit(1);
}

/* ---- sandboxes ---- */

static void ask(enum broker_type type, const char *id)
{
	struct broker_req r = {.type = type,
			       .image = "host",
			       .memory_bytes = UINT64_C(512) << 20,
			       .cpu_millis = 1000,
			       .pids = 256,
			       .disk_bytes = UINT64_C(1) << 30};
	struct errinfo e;

	snprintf(r.id, sizeof(r.id), "%s", id);
	if (broker_call(run_dir, &r, clock_mono_ms() + LIMIT_MS, &e) !=
	    ERR_NONE)
		give_up("broker", &e);
}

static void put_true(struct buf *b)
{
	static const char *const argv[] = {"/bin/true"};
	static const char *const env[] = {"PATH=/usr/bin:/bin"};
	const struct keeper_start s = {.id = "exec_1",
				       .kind = EXEC_CALL,
				       .flags = KF_ATTACH,
				       .timeout_ms = LIMIT_MS,
				       .user = "",
				       .cwd = "",
				       .argv = argv,
				       .argc = 1,
				       .env = env,
				       .envc = 1};

	keeper_put_start(b, &s);
}

/* Until the END event of the one execution. */
static void wait_end(int fd)
{
	struct wire_rx rx;
	struct errinfo e;

	wire_rx_init(&rx, KEEPER_PAYLOAD_MAX);
	for (;;) {
		struct wire_msg *m;
		struct keeper_event ev;

		if (wire_recv(&rx, fd, -1, clock_mono_ms() + LIMIT_MS, &m,
			      &e) != ERR_NONE)
			give_up("keeper", &e);
		if (m->type == KM_REFUSED) {
			keeper_refused(m, &e);
			give_up("start", &e);
		}
		if (m->type != KM_EVENT)
			continue;
		if (keeper_get_event(m, &ev, &e) != ERR_NONE)
			give_up("event", &e);
		if (ev.kind != EVENT_END)
			continue;
		if (ev.end.reason == END_EXITED && ev.end.exit_code == 0)
			break;
		fputs("engine: true failed\n", stderr);
		exit(1);
	}
	wire_rx_free(&rx);
}

static void run_true(const char *id)
{
	OWN(buf_free) struct buf b = BUF_INIT(4096);
	OWN(own_fd) int fd = -1;
	struct errinfo e;

	put_true(&b);
	if (keeper_connect(run_dir, id, &fd, &e) != ERR_NONE ||
	    wire_send(fd, KM_START, 1, &b, clock_mono_ms() + LIMIT_MS, &e) !=
		ERR_NONE)
		give_up("keeper", &e);
	wait_end(fd);
}

/* ---- the rows ---- */

static int64_t first_us(int64_t *create)
{
	id_sandbox_t id;
	int64_t start, took;

	id_sandbox(id);
	start = engine_now_us();
	ask(BROKER_START, id);
	*create = engine_now_us() - start;
	run_true(id);
	took = engine_now_us() - start;
	ask(BROKER_DESTROY, id);
	return took;
}

static void row_first(int n)
{
	for (int i = -5; i < n; i++) {
		int64_t ours, create, theirs;

		usleep(60000); /* what is made ahead is made when idle */
		ours = first_us(&create);
		usleep(60000);
		theirs = engine_bwrap_us();
		if (i >= 0)
			printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", ours,
			       create, theirs);
	}
}

static atomic_int next;

struct work {
	void (*fn)(int i);
	int n;
};

static void *work_on(void *arg)
{
	const struct work *w = arg;
	int i;

	while ((i = atomic_fetch_add(&next, 1)) < w->n)
		w->fn(i);
	return NULL;
}

/* fn(0) … fn(n - 1) by so many threads; microseconds. */
static int64_t parallel(int threads, int n, void (*fn)(int i))
{
	static pthread_t all[ENGINE_MOST];
	struct work w = {.fn = fn, .n = n};
	int64_t start = engine_now_us();

	atomic_store(&next, 0);
	for (int i = 0; i < threads; i++)
		must(pthread_create(&all[i], NULL, work_on, &w) == 0);
	for (int i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	return engine_now_us() - start;
}

static void make(int i)
{
	id_sandbox(ids[i]);
	ask(BROKER_START, ids[i]);
}

static void destroy(int i)
{
	ask(BROKER_DESTROY, ids[i]);
}

static void stop(int i)
{
	ask(BROKER_STOP, ids[i]);
}

static atomic_llong making_us, destroying_us;

static void churn(int i)
{
	int64_t start = engine_now_us(), made;

	make(i);
	made = engine_now_us();
	destroy(i);
	atomic_fetch_add(&making_us, made - start);
	atomic_fetch_add(&destroying_us, engine_now_us() - made);
}

static double rate(int n, int64_t us)
{
	return n * 1e6 / (double)us;
}

static void row_churn(int n)
{
	for (int i = -1; i < ROUNDS; i++) {
		int64_t us, ticks = engine_ticks(run_dir);

		atomic_store(&making_us, 0);
		atomic_store(&destroying_us, 0);
		us = parallel(CLIENTS, n, churn);
		usleep(300000); /* what is made ahead, files that are removed */
		ticks = engine_ticks(run_dir) - ticks;
		if (i >= 0)
			printf(
			    "%.1f %.1f %.1f %.2f %.1f\n", rate(n, us),
			    (double)making_us / n / 1e3,
			    (double)destroying_us / n / 1e3,
			    (double)ticks * 1e3 / (double)sysconf(_SC_CLK_TCK) /
				n,
			    rate(n, parallel(CLIENTS, n, engine_bwrap_true)));
	}
}

static void row_kill(int n)
{
	for (int i = 0; i < ROUNDS; i++) {
		int64_t us;

		parallel(CLIENTS, n, make);
		usleep(300000);
		us = parallel(n, n, stop);
		parallel(CLIENTS, n, destroy);
		usleep(300000);
		printf("%.1f %.1f\n", (double)us / 1e3,
		       (double)engine_bwrap_kill_us(n) / 1e3);
	}
}

static void row_idle(int n)
{
	make(0); /* what is made once, and the ready berths */
	usleep(500000);
	destroy(0);
	for (int i = 0; i < IDLE_ROUNDS; i++) {
		int64_t kernel;

		usleep(500000);
		kernel = engine_kernel_kib();
		parallel(CLIENTS, n, make);
		sleep(2);
		printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
		       engine_cgroup_bytes(run_dir, ids, n) / n,
		       engine_init_kib(run_dir, ids, n) * 1024 / n,
		       engine_keeper_kib(ids, n) * 1024 / n,
		       (engine_kernel_kib() - kernel) * 1024 / n);
		parallel(CLIENTS, n, destroy);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(int n);
	} rows[] = {{"first", row_first},
		    {"churn", row_churn},
		    {"idle", row_idle},
		    {"kill", row_kill}};
	long n = argc > 3 ? strtol(argv[3], NULL, 10) : 100;

	log_open("engine", LOG_ERROR);
	id_init();
	if (argc < 3 || argv[1][0] != '/' || n < 1 || n > ENGINE_MOST) {
		fputs("usage: engine RUN_DIR first|churn|idle|kill [N]\n",
		      stderr);
		return 2;
	}
	run_dir = argv[1];
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(argv[2], rows[i].name) == 0)
			rows[i].fn((int)n);
	return 0;
}
