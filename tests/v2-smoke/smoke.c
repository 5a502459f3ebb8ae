/*
 * The limits of a sandbox on a pure cgroup-v2 kernel, by the real broker,
 * keeper and init. Runs inside of the guest that `run` boots, as root, with
 * warrend up: smoke RUN_DIR. One line for each claim, "ok" or "not ok"; ends
 * with the number of those that do not hold.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/id.h"
#include "base/log.h"
#include "base/own.h"
#include "tests/lib/client.h"

#define MIB (UINT64_C(1) << 20)
#define PIDS 20U
#define DISK_MIB 16

static const struct client_limits limits = {.memory_bytes = 64 * MIB,
					    .cpu_millis = 200,
					    .pids = PIDS,
					    .disk_bytes = DISK_MIB * MIB};

static const char *run_dir;
static id_sandbox_t id;
static int failed;

static void claim(bool holds, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void claim(bool holds, const char *what, const char *fmt, ...)
{
	va_list ap;

	failed += !holds;
	printf("%s - %s", holds ? "ok" : "not ok", what);
	if (!holds) {
		printf(": ");
		va_start(ap, fmt);
		vprintf(fmt, ap);
		va_end(ap);
	}
	putchar('\n');
	fflush(stdout);
}

/* ---- the cgroup, as the machine sees it ---- */

static void path_of(char *out, size_t size, const char *file)
{
	snprintf(out, size, "/sys/fs/cgroup%s/%s/%s", strrchr(run_dir, '/'), id,
		 file);
}

static const char *text_of(const char *file)
{
	static char text[4096];
	char path[512];
	FILE *f;

	path_of(path, sizeof(path), file);
	f = fopen(path, "re");
	text[f != NULL ? fread(text, 1, sizeof(text) - 1, f) : 0] = '\0';
	if (f != NULL)
		fclose(f);
	text[strcspn(text, "\n") == strlen(text) - 1 ? strlen(text) - 1
						     : strlen(text)] = '\0';
	return text;
}

/* The number after ${key} in a file of lines "key number"; -1: not there. */
static int64_t number_of(const char *file, const char *key)
{
	const char *at = text_of(file);
	size_t n = strlen(key);

	while (at != NULL && *at != '\0') {
		if (strncmp(at, key, n) == 0 && at[n] == ' ')
			return strtoll(at + n, NULL, 10);
		at = strchr(at, '\n');
		at = at != NULL ? at + 1 : NULL;
	}
	return -1;
}

/* How many leaves there are; the owner of one in ${owner}. */
static int leaves(uid_t *owner)
{
	char path[512];
	struct dirent *de;
	int n = 0;
	DIR *d;

	path_of(path, sizeof(path), "");
	d = opendir(path);
	while (d != NULL && (de = readdir(d)) != NULL) {
		char leaf[800];
		struct stat st;

		snprintf(leaf, sizeof(leaf), "%s/%s", path, de->d_name);
		if (de->d_name[0] != 'e' || de->d_type != DT_DIR ||
		    stat(leaf, &st) != 0)
			continue;
		*owner = st.st_uid;
		n++;
	}
	if (d != NULL)
		closedir(d);
	return n;
}

/* ---- running ---- */

static void sh(const char *name, const char *script, struct client_end *out)
{
	const char *const argv[] = {"sh", "-c", script, NULL};

	client_end(client_begin(run_dir, id, name, argv), out);
}

static void a_command_runs(const char *name, const char *what)
{
	struct client_end r;

	sh(name, "echo alive", &r);
	claim(r.end.reason == END_EXITED && r.end.exit_code == 0 &&
		  strcmp(buf_str(&r.out), "alive\n") == 0,
	      what, "%s %d %s", end_reason_name(r.end.reason), r.end.exit_code,
	      buf_str(&r.out));
	buf_free(&r.out);
}

/* ---- claims ---- */

static void the_limits_are_set(void)
{
	claim(strcmp(text_of("memory.max"), "67108864") == 0,
	      "memory.max is the limit", "%s", text_of("memory.max"));
	claim(strcmp(text_of("pids.max"), "20") == 0, "pids.max is the limit",
	      "%s", text_of("pids.max"));
	claim(strcmp(text_of("cpu.max"), "20000 100000") == 0,
	      "cpu.max is the quota", "%s", text_of("cpu.max"));
}

static void memory_is_limited(void)
{
	int64_t before = number_of("memory.events", "oom_kill");
	struct client_end r;

	sh("memory", "dd if=/dev/zero of=/dev/null bs=200M count=1", &r);
	claim(r.end.reason == END_OUT_OF_MEMORY,
	      "a memory bomb ends as out_of_memory", "%s: %s",
	      end_reason_name(r.end.reason), buf_str(&r.out));
	claim(number_of("memory.events", "oom_kill") > before,
	      "the kernel's own counter says so", "%" PRId64,
	      number_of("memory.events", "oom_kill"));
	buf_free(&r.out);
	a_command_runs("after-memory", "the sandbox lives on after it");
}

static void processes_are_limited(void)
{
	struct client_end r;

	sh("pids", "i=0; while [ $i -lt 40 ]; do sleep 2 & i=$((i + 1)); done",
	   &r);
	claim(strstr(buf_str(&r.out), "fork") != NULL,
	      "the process limit is told to who forks", "%s", buf_str(&r.out));
	claim(number_of("pids.events", "max") > 0,
	      "the kernel has refused processes", "%s", text_of("pids.events"));
	claim(strtol(text_of("pids.current"), NULL, 10) <= PIDS,
	      "there are no more than the limit", "%s",
	      text_of("pids.current"));
	buf_free(&r.out);
}

static bool leaves_go(void)
{
	uid_t owner;
	int n = 100;

	while (n > 0 && leaves(&owner) > 0) {
		usleep(50000);
		n--;
	}
	return n > 0;
}

static void leaves_are_delegated_and_killed(void)
{
	static const char *const argv[] = {
	    "sh", "-c",
	    "trap '' TERM; for i in 1 2 3; do setsid sh -c \"trap '' TERM; "
	    "sleep 60\" & done; echo ready; sleep 60",
	    NULL};
	struct client_end r;
	uid_t owner = 0;
	int fd, n;

	claim(leaves_go(), "a leaf is removed when its last process ends",
	      "%d leaves", leaves(&owner));
	fd = client_begin(run_dir, id, "stubborn", argv);
	for (n = 100; n > 0 && leaves(&owner) == 0; n--)
		usleep(50000);
	claim(n > 0 && owner >= 0x10000000U,
	      "each execution has a leaf that belongs to init's id", "%u",
	      owner);
	client_kill(run_dir, id, "stubborn");
	client_end(fd, &r);
	claim(r.end.reason == END_KILLED,
	      "what ignores TERM is killed by its cgroup", "%s",
	      end_reason_name(r.end.reason));
	buf_free(&r.out);
	claim(leaves_go(), "its leaf is gone", "%d leaves", leaves(&owner));
}

/* By the project quota of the file system that run has made. */
static void disk_is_limited(void)
{
	struct client_end r;

	sh("disk", "dd if=/dev/zero of=/workspace/x bs=1M count=64", &r);
	claim(r.end.reason == END_DISK_LIMIT && r.end.exit_code == 1,
	      "a full disk is told as disk_limit", "%s %d: %s",
	      end_reason_name(r.end.reason), r.end.exit_code, buf_str(&r.out));
	/* With what the directories of its layers take. */
	claim(r.end.hits.of[HIT_DISK].limit >= DISK_MIB * MIB &&
		  r.end.hits.of[HIT_DISK].limit < (DISK_MIB + 1) * MIB,
	      "and how large it is", "%" PRIu64, r.end.hits.of[HIT_DISK].limit);
	buf_free(&r.out);
	sh("after-disk",
	   "rm /workspace/x && dd if=/dev/zero of=/workspace/y bs=1M count=8 "
	   "2>/dev/null && echo room",
	   &r);
	claim(strcmp(buf_str(&r.out), "room\n") == 0,
	      "what is removed is room again", "%s", buf_str(&r.out));
	buf_free(&r.out);
}

static void cpu_is_limited(void)
{
	int64_t before = number_of("cpu.stat", "usage_usec"), used;
	struct client_end r;

	sh("cpu", "(while :; do :; done) & sleep 3; kill $!", &r);
	used = number_of("cpu.stat", "usage_usec") - before;
	claim(used > 0 && used < 1200000,
	      "three seconds of spinning take a fifth of a core",
	      "%" PRId64 " us", used);
	claim(number_of("cpu.stat", "nr_throttled") > 0,
	      "the kernel has throttled it", "%s", text_of("cpu.stat"));
	buf_free(&r.out);
}

/* ---- crashes; guest.sh has set a handler that writes a line for each ---- */

static off_t crashes(void)
{
	struct stat st;

	usleep(500000); /* it is started, not waited for */
	return stat("/run/crashes", &st) == 0 ? st.st_size : 0;
}

static void no_crash_inside_runs_a_handler(void)
{
	static const char *const scripts[] = {
	    "kill -SEGV $$", "ulimit -c 0; kill -SEGV $$",
	    "ulimit -c unlimited; kill -SEGV $$",
	    "sh -c 'kill -ABRT $$'; sh -c 'ulimit -Sc 0; kill -QUIT $$'"};
	off_t before;

	claim(system("kill -SEGV $$") >= 0 && crashes() > 0,
	      "the handler runs for a crash outside", "it does not");
	before = crashes();
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		char name[] = "crash0";
		struct client_end r;

		name[5] = (char)('0' + i);
		sh(name, scripts[i], &r);
		claim(i == 3 || r.end.reason == END_SIGNALLED, "a crash", "%s",
		      end_reason_name(r.end.reason));
		buf_free(&r.out);
	}
	claim(crashes() == before, "and for none in a sandbox", "%ld times",
	      (long)(crashes() - before));
}

/* EACCES is Landlock's word: the other walls say EPERM. */
static void files_have_a_second_wall(void)
{
	struct client_end r;

	sh("landlock", "mknod /tmp/d c 1 3", &r);
	claim(strstr(buf_str(&r.out), "Permission denied") != NULL,
	      "Landlock confines", "%s", buf_str(&r.out));
	buf_free(&r.out);
	sh("refer",
	   "cd /tmp && mkdir a b && echo x >a/f && mv a/f b/g && "
	   "echo y >>b/g && rm -r a b && echo done",
	   &r);
	claim(strcmp(buf_str(&r.out), "done\n") == 0, "and hinders nothing",
	      "%s", buf_str(&r.out));
	buf_free(&r.out);
}

static void a_destroyed_sandbox_leaves_nothing(void)
{
	static const char *const argv[] = {"sleep", "60", NULL};
	char path[512];
	struct timespec a, b;
	int fd = client_begin(run_dir, id, "last", argv);

	usleep(200000);
	clock_gettime(CLOCK_MONOTONIC, &a);
	client_ask(run_dir, BROKER_DESTROY, id, NULL);
	clock_gettime(CLOCK_MONOTONIC, &b);
	close(fd);
	path_of(path, sizeof(path), "");
	claim(access(path, F_OK) != 0, "its cgroup is gone", "%s", path);
	claim(b.tv_sec - a.tv_sec < 5, "soon", "%ld s",
	      (long)(b.tv_sec - a.tv_sec));
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: smoke RUN_DIR\n", stderr);
		return 2;
	}
	run_dir = argv[1];
	log_open("smoke", LOG_INFO);
	id_init();
	id_sandbox(id);
	client_ask(run_dir, BROKER_START, id, &limits);
	a_command_runs("first", "a sandbox runs a command");
	the_limits_are_set();
	memory_is_limited();
	processes_are_limited();
	leaves_are_delegated_and_killed();
	disk_is_limited();
	cpu_is_limited();
	no_crash_inside_runs_a_handler();
	files_have_a_second_wall();
	a_command_runs("end", "the sandbox lives on to the end");
	a_destroyed_sandbox_leaves_nothing();
	printf("smoke: %d claims do not hold\n", failed);
	return failed > 0;
}
