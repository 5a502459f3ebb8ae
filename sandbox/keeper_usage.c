#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "sandbox/keeper_usage.h"

#define NO_LIMIT (UINT64_C(1) << 62) /* what v1 says instead of "max" */

static const char letters_of[USAGE_COUNT] = {
#define X(name, letter) letter,
    USAGE_FILES(X)
#undef X
};

char usage_letter(enum usage_file f)
{
	return letters_of[f];
}

bool usage_fds_named(struct usage_fds *u, const char *letters, int first)
{
	for (int i = 0; i < USAGE_COUNT; i++)
		u->fd[i] = -1;
	for (int i = 0; letters[i] != '\0'; i++) {
		const char *at = memchr(letters_of, letters[i], USAGE_COUNT);

		if (at == NULL)
			return false;
		u->fd[at - letters_of] = first + i;
	}
	return true;
}

static bool text_of(int fd, char text[1024])
{
	ssize_t n = fd < 0 ? -1 : pread(fd, text, 1023, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

/* The number after ${key} and a blank, at the beginning of a line. */
static uint64_t count_of(int fd, const char *key)
{
	char text[1024];
	size_t n = strlen(key);
	const char *at = text;

	if (!text_of(fd, text))
		return 0;
	while (strncmp(at, key, n) != 0 || at[n] != ' ') {
		at = strchr(at, '\n');
		if (at == NULL)
			return 0;
		at++;
	}
	return strtoull(at + n, NULL, 10);
}

void usage_counts(const struct usage_fds *u, struct usage_counts *out)
{
	out->oom = count_of(u->fd[USAGE_OOM], "oom_kill");
	out->pids = count_of(u->fd[USAGE_PIDS_EVENTS], "max");
}

/* "max", and what v1 has for it, is 0: none. */
static uint64_t number_of(int fd)
{
	char text[1024];
	uint64_t v;

	if (!text_of(fd, text))
		return 0;
	v = strtoull(text, NULL, 10);
	return v < NO_LIMIT ? v : 0;
}

bool usage_disk_full(const struct usage_fds *u)
{
	struct statvfs s;

	return u->fd[USAGE_DISK] >= 0 && fstatvfs(u->fd[USAGE_DISK], &s) == 0 &&
	       (s.f_bavail == 0 || s.f_favail == 0);
}

static void hit(struct keeper_hit *h, uint64_t now, uint64_t from,
		uint64_t *told)
{
	if (now <= from)
		return;
	h->hits = now - from;
	if (told == NULL || now <= *told)
		return;
	h->fresh = now - *told;
	*told = now;
}

void usage_hits(const struct usage_fds *u, const struct usage_counts *from,
		struct usage_counts *told, struct keeper_hits *out)
{
	struct keeper_hit *memory = &out->of[HIT_MEMORY];
	struct keeper_hit *pids = &out->of[HIT_PIDS];
	struct usage_counts now;

	usage_counts(u, &now);
	hit(memory, now.oom, from->oom, told != NULL ? &told->oom : NULL);
	hit(pids, now.pids, from->pids, told != NULL ? &told->pids : NULL);
	if (memory->hits > 0) {
		memory->limit = number_of(u->fd[USAGE_MEMORY_MAX]);
		memory->used = number_of(u->fd[USAGE_MEMORY_PEAK]);
	}
	if (pids->hits > 0) /* all of them, when it was refused */
		pids->used = pids->limit = number_of(u->fd[USAGE_PIDS_MAX]);
}

void usage_disk_hit(const struct usage_fds *u, struct keeper_hits *out)
{
	struct keeper_usage all;
	bool inodes;

	usage_read(u, &all);
	inodes = all.inodes_used >= all.inodes_limit;
	out->of[inodes ? HIT_INODES : HIT_DISK] = (struct keeper_hit){
	    .limit = inodes ? all.inodes_limit : all.disk_limit,
	    .used = inodes ? all.inodes_used : all.disk_used,
	    .hits = 1,
	    .fresh = 1,
	};
}

uint64_t usage_memory_limit(const struct usage_fds *u)
{
	return number_of(u->fd[USAGE_MEMORY_MAX]);
}

bool usage_freeze(const struct usage_fds *u, bool on)
{
	return pwrite(u->fd[USAGE_FREEZE], on ? "1" : "0", 1, 0) == 1;
}

bool usage_frozen(const struct usage_fds *u)
{
	return count_of(u->fd[USAGE_EVENTS], "frozen") == 1;
}

void usage_read(const struct usage_fds *u, struct keeper_usage *out)
{
	struct statvfs s;

	*out = (struct keeper_usage){
	    .memory_used = number_of(u->fd[USAGE_MEMORY]),
	    .memory_limit = number_of(u->fd[USAGE_MEMORY_MAX]),
	    .pids_used = number_of(u->fd[USAGE_PIDS]),
	    .pids_limit = number_of(u->fd[USAGE_PIDS_MAX]),
	};
	if (u->fd[USAGE_DISK] < 0 || fstatvfs(u->fd[USAGE_DISK], &s) < 0)
		return;
	/* What is reserved is neither used nor to be had. */
	out->disk_used = (uint64_t)(s.f_blocks - s.f_bfree) * s.f_frsize;
	out->disk_limit = out->disk_used + (uint64_t)s.f_bavail * s.f_frsize;
	out->inodes_used = s.f_files - s.f_ffree;
	out->inodes_limit = out->inodes_used + s.f_favail;
}
