#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/engine.h"

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

int64_t engine_kernel_kib(void)
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

int64_t engine_cgroup_bytes(const char *run_dir, id_sandbox_t *ids, int n)
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

/* What they had before they were in their cgroups is not in those. */
int64_t engine_init_kib(const char *run_dir, id_sandbox_t *ids, int n)
{
	static const char *const pss[] = {"Pss:", NULL};
	static const char *const trees[] = {"/sys/fs/cgroup/unified",
					    "/sys/fs/cgroup"};
	const char *instance = strrchr(run_dir, '/') + 1;
	int64_t kib = 0;

	for (int i = 0; i < n; i++)
		for (int k = 0; k < 2; k++) {
			char path[512];
			int64_t pid;

			snprintf(path, sizeof(path),
				 "%s/%.64s/%.22s/cgroup.procs", trees[k],
				 instance, ids[i]);
			pid = number(path);
			if (pid <= 0)
				continue;
			snprintf(path, sizeof(path),
				 "/proc/%" PRId64 "/smaps_rollup", pid);
			kib += lines_kib(path, pss);
			break;
		}
	return kib;
}

static bool is_one_of(id_sandbox_t *ids, int n, const char *id)
{
	for (int i = 0; i < n; i++)
		if (strcmp(ids[i], id) == 0)
			return true;
	return false;
}

/* Keepers name their sandbox. */
int64_t engine_keeper_kib(id_sandbox_t *ids, int n)
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
		if (!is_one_of(ids, n, text + strlen(text) + 1))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
		kib += lines_kib(path, pss);
	}
	if (f != NULL)
		pclose(f);
	return kib;
}

/* User and system time of a process and of its children that were reaped,
 * in clock ticks, if it is one of the stack's; keepers have no other trace of
 * it than an argument, and that is true until they end. */
static int64_t process_ticks(const char *run_dir, const char *pid)
{
	char path[300], text[1024];
	int64_t sum = 0;
	const char *at;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	f = fopen(path, "re");
	n = f != NULL ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f != NULL)
		fclose(f);
	text[n] = '\0';
	if (strstr(text, "warren") == NULL ||
	    memmem(text, n, run_dir, strlen(run_dir)) == NULL)
		return 0;
	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	f = fopen(path, "re");
	n = f != NULL ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f != NULL)
		fclose(f);
	text[n] = '\0';
	at = strrchr(text, ')');
	for (int field = 3; at != NULL && field <= 17; field++) {
		at = strchr(at + 1, ' ');
		if (at != NULL && field >= 14)
			sum += strtoll(at, NULL, 10);
	}
	return sum;
}

int64_t engine_ticks(const char *run_dir)
{
	DIR *d = opendir("/proc");
	struct dirent *de;
	int64_t sum = 0;

	while (d != NULL && (de = readdir(d)) != NULL)
		if (de->d_name[0] >= '1' && de->d_name[0] <= '9')
			sum += process_ticks(run_dir, de->d_name);
	if (d != NULL)
		closedir(d);
	return sum;
}
