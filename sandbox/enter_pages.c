/* Making an interpreter's memory fit to be forked; see enter.h. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sandbox/enter.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define EXPORT __attribute__((visibility("default")))
#define HUGE_BYTES (2UL << 20)

struct map {
	unsigned long first;
	unsigned long last;
	char flags[8];
	bool anonymous; /* heaps and stacks are, files are not */
};

static bool read_map(FILE *f, struct map *m)
{
	char line[4352], path[256] = "";
	unsigned long inode = 0;

	if (fgets(line, sizeof(line), f) == NULL)
		return false;
	*m = (struct map){0};
	if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %255s", &m->first, &m->last,
		   m->flags, &inode, path) < 4)
		return true;
	m->anonymous = inode == 0 && m->flags[3] == 'p' &&
		       strncmp(path, "[v", 2) != 0; /* the kernel's own */
	return true;
}

static void *address(unsigned long at)
{
	void *p;

	memcpy(&p, &at, sizeof(p));
	return p;
}

EXPORT int enter_forkable(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	struct map m;
	int failed = 0;

	if (f == NULL)
		return -1;
	while (read_map(f, &m))
		if (m.anonymous && madvise(address(m.first), m.last - m.first,
					   MADV_DOFORK) < 0)
			failed = -1;
	fclose(f);
	return failed;
}

EXPORT unsigned long enter_collapse(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long done = 0;
	struct map m;

	if (f == NULL)
		return 0;
	while (read_map(f, &m)) {
		unsigned long at = (m.first + HUGE_BYTES - 1) &
				   ~(HUGE_BYTES - 1);

		if (!m.anonymous || strcmp(m.flags, "rw-p") != 0)
			continue;
		for (; at + HUGE_BYTES <= m.last; at += HUGE_BYTES)
			if (madvise(address(at), HUGE_BYTES, MADV_COLLAPSE) ==
			    0)
				done += HUGE_BYTES;
	}
	fclose(f);
	return done;
}
