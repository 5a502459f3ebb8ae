/*
 * What the engine itself costs: broker and keeper asked directly, without
 * HTTP, a worker or a database.
 *
 * engine RUN_DIR WHAT [N]: prints one number a line, as engine.mjs reads it.
 *   first N      create + first `true`, its part for create, and bwrap: us
 *   churn N      N sandboxes created and destroyed by 16 clients: how many a
 *                second, and what a client waits for each of both, in ms
 *   idle N       N idle sandboxes: bytes of one: cgroup, keeper, kernel
 *   kill N       N sandboxes stopped at once: ms until the last was gone
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/broker_msg.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/keeper_msg.h"
#include "base/log.h"
#include "base/own.h"

#define CLIENTS 16
#define LIMIT_MS 30000
#define MOST 1000

extern char **environ;

static const char *run_dir;
static id_sandbox_t ids[MOST];

/* ---- time and failure ---- */

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

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
		if (ev.kind == EVENT_END)
			break;
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

/* What a user would pick instead, with flags that give about the same. */
static int64_t bwrap_us(void)
{
	static const char line[] =
	    "bwrap --unshare-all --die-with-parent --new-session --as-pid-1 "
	    "--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib "
	    "--symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp "
	    "--tmpfs /workspace --chdir /workspace --cap-drop ALL --uid 1000 "
	    "--gid 1000 --hostname sandbox --clearenv /bin/true";
	static char copy[sizeof(line)];
	static char *argv[64];
	int64_t start;
	int status;
	pid_t pid;

	if (argv[0] == NULL) {
		char *save = NULL, *word;
		int n = 0;

		memcpy(copy, line, sizeof(line));
		word = strtok_r(copy, " ", &save);
		while (word != NULL) {
			argv[n++] = word;
			word = strtok_r(NULL, " ", &save);
		}
	}
	start = now_us();
	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) != pid || status != 0) {
		fprintf(stderr, "engine: bwrap failed\n");
		exit(1);
	}
	return now_us() - start;
}

static int64_t first_us(int64_t *create)
{
	id_sandbox_t id;
	int64_t start, took;

	id_sandbox(id);
	start = now_us();
	ask(BROKER_START, id);
	*create = now_us() - start;
	run_true(id);
	took = now_us() - start;
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
		theirs = bwrap_us();
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
	static pthread_t all[MOST];
	struct work w = {.fn = fn, .n = n};
	int64_t start = now_us();

	atomic_store(&next, 0);
	for (int i = 0; i < threads; i++)
		must(pthread_create(&all[i], NULL, work_on, &w) == 0);
	for (int i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	return now_us() - start;
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
	int64_t start = now_us(), made;

	make(i);
	made = now_us();
	destroy(i);
	atomic_fetch_add(&making_us, made - start);
	atomic_fetch_add(&destroying_us, now_us() - made);
}

static void row_churn(int n)
{
	int64_t us = parallel(CLIENTS, n, churn);

	printf("%.1f %.1f %.1f\n", n * 1e6 / (double)us,
	       (double)making_us / n / 1e3, (double)destroying_us / n / 1e3);
}

static void row_kill(int n)
{
	int64_t us;

	parallel(CLIENTS, n, make);
	usleep(500000);
	us = parallel(n, n, stop);
	printf("%.1f\n", (double)us / 1e3);
	parallel(CLIENTS, n, destroy);
}

/* ---- memory ---- */

static int64_t lines_kib(const char *path, const char *const *names)
{
	FILE *f = fopen(path, "re");
	char line[256];
	int64_t kib = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		for (int i = 0; names[i] != NULL; i++)
			if (strncmp(line, names[i], strlen(names[i])) == 0)
				kib += strtoll(line + strlen(names[i]), NULL,
					       10);
	if (f != NULL)
		fclose(f);
	return kib;
}

static int64_t kernel_kib(void)
{
	static const char *const names[] = {
	    "Slab:", "KernelStack:", "PageTables:", "Percpu:", NULL};

	return lines_kib("/proc/meminfo", names);
}

static int64_t number(const char *path)
{
	FILE *f = fopen(path, "re");
	int64_t v = 0;

	if (f != NULL && fscanf(f, "%" SCNd64, &v) != 1)
		v = 0;
	if (f != NULL)
		fclose(f);
	return v;
}

static int64_t cgroup_bytes(int n)
{
	static const char *const places[][2] = {
	    {"/sys/fs/cgroup/memory", "memory.usage_in_bytes"},
	    {"/sys/fs/cgroup", "memory.current"}};
	const char *instance = strrchr(run_dir, '/') + 1;
	int64_t sum = 0;

	for (int i = 0; i < n; i++)
		for (int k = 0; k < 2; k++) {
			char path[512];

			snprintf(path, sizeof(path), "%s/%.64s/%.22s/%s",
				 places[k][0], instance, ids[i], places[k][1]);
			sum += number(path);
		}
	return sum;
}

static bool is_one_of(const char *id, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(ids[i], id) == 0)
			return true;
	return false;
}

/* Keepers name their sandbox. */
static int64_t keeper_kib(int n)
{
	static const char *const pss[] = {"Pss:", NULL};
	int64_t kib = 0;
	FILE *f = popen("pgrep -f '^warren-keeper s'", "re");
	int pid;

	while (f != NULL && fscanf(f, "%d", &pid) == 1) {
		char path[64], text[256] = "";
		FILE *c;

		snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
		c = fopen(path, "re");
		if (c == NULL)
			continue;
		text[fread(text, 1, sizeof(text) - 1, c)] = '\0';
		fclose(c);
		if (!is_one_of(text + strlen(text) + 1, n))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
		kib += lines_kib(path, pss);
	}
	if (f != NULL)
		pclose(f);
	return kib;
}

static void row_idle(int n)
{
	int64_t kernel;

	make(0); /* what is made once, and the ready berths */
	usleep(500000);
	destroy(0);
	usleep(500000);
	kernel = kernel_kib();
	parallel(CLIENTS, n, make);
	sleep(2);
	printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", cgroup_bytes(n) / n,
	       keeper_kib(n) * 1024 / n, (kernel_kib() - kernel) * 1024 / n);
	parallel(CLIENTS, n, destroy);
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
	if (argc < 3 || argv[1][0] != '/' || n < 1 || n > MOST) {
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
