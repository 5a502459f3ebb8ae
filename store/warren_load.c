#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "store/warren_load.h"

/* The sum of the lines of ${path} that begin with one of ${names}, in KiB. */
static int64_t load_lines(const char *path, const char *const *names)
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

static int64_t load_number(const char *path)
{
	FILE *f = fopen(path, "re");
	long long n = -1;

	if (f != NULL && fscanf(f, "%lld", &n) != 1)
		n = -1;
	if (f != NULL)
		fclose(f);
	return n;
}

/* By v1 or by v2, as cgroup.h lays them out. */
static int64_t load_cgroup(const char *run_dir, const char *id)
{
	static const char *const places[][2] = {
	    {"/sys/fs/cgroup/memory", "memory.usage_in_bytes"},
	    {"/sys/fs/cgroup", "memory.current"}};
	const char *slash = strrchr(run_dir, '/');

	for (size_t i = 0; i < 2; i++) {
		char path[256];
		int64_t n;

		snprintf(path, sizeof(path), "%s/%s/%s/%s", places[i][0],
			 slash + 1, id, places[i][1]);
		n = load_number(path);
		if (n >= 0)
			return n;
	}
	return 0;
}

static void load_keeper(const struct warren_run *run, int pid,
			struct warren_load *load)
{
	static const char *const pss[] = {"Pss:", NULL};
	char path[64], text[128] = "";
	const char *id;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	id = text + strlen(text) + 1;
	if (strcmp(text, "warren-keeper") != 0 || !id_sandbox_ok(id))
		return;
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	load->keepers++;
	load->keeper_bytes += load_lines(path, pss) * 1024;
	load->cgroup_bytes += load_cgroup(run->dir, id);
}

bool warren_load_read(const struct warren_run *run, struct warren_load *load)
{
	static const char *const kernel[] = {
	    "Slab:", "KernelStack:", "PageTables:", "Percpu:", NULL};
	struct warren_load l = {0};
	char path[64];
	FILE *f;
	int pid;

	if (geteuid() != 0 || run->broker <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
		 (int)run->broker, (int)run->broker);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	while (fscanf(f, "%d", &pid) == 1)
		load_keeper(run, pid, &l);
	fclose(f);
	l.kernel_bytes = load_lines("/proc/meminfo", kernel) * 1024;
	*load = l;
	return true;
}
