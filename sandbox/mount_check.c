#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/mount_check.h"

#define TEXT_MAX 65536
#define COUNT_MAX 2048

/* Newer than Debian 12's headers: struct mnt_id_req, listmount(2). */
#define LIST_CALL 458
#define LIST_ROOT UINT64_MAX
struct list_req {
	uint32_t size;
	uint32_t spare;
	uint64_t of;
	uint64_t after;
};

/* All of them; 0 if there are too many, or no such call. */
static size_t list(uint64_t ids[COUNT_MAX])
{
	struct list_req req = {.size = sizeof(req), .of = LIST_ROOT};
	long n = syscall(LIST_CALL, &req, ids, COUNT_MAX, 0);

	return n <= 0 || n == COUNT_MAX ? 0 : (size_t)n;
}

struct mount_count mount_count(void)
{
	uint64_t ids[COUNT_MAX];
	size_t n = list(ids);
	struct mount_count c = {.n = (int)n};

	for (size_t i = 0; i < n; i++)
		if (ids[i] > c.newest)
			c.newest = ids[i];
	return c;
}

int mount_count_newer(const struct mount_count *before)
{
	uint64_t ids[COUNT_MAX];
	size_t n = list(ids);
	int newer = 0;

	for (size_t i = 0; i < n; i++)
		newer += ids[i] > before->newest;
	return newer;
}

bool mount_check_count(const struct mount_count *before, int made)
{
	uint64_t ids[COUNT_MAX];
	size_t n = before->n > 0 ? list(ids) : 0;

	if (before->n <= 0)
		return true;
	errno = EXDEV;
	if (n != (size_t)made)
		return false;
	for (size_t i = 0; i < n; i++)
		if (ids[i] <= before->newest)
			return false;
	return true;
}

static const struct made {
	const char *at;
	const char *type;
	bool needed;
} made[] = {{"/", "overlay", true},
	    {"/usr", "overlay", false},
	    {"/opt/warren", "overlay", false},
	    {"/tmp", "tmpfs", true},
	    {"/dev", "tmpfs", true},
	    {"/dev/shm", "tmpfs", true},
	    {"/dev/pts", "devpts", true},
	    {"/proc", "proc", true}};

#define MADE (sizeof(made) / sizeof(made[0]))

struct line {
	char *at;
	char *type;
};

/* "id parent dev root AT options [shared:N …] - TYPE source options" */
static bool cut(char *text, struct line *l)
{
	char *word;

	for (int i = 0; i < 4; i++)
		(void)strsep(&text, " ");
	l->at = strsep(&text, " ");
	(void)strsep(&text, " ");
	/* Anything but the dash here tells of a peer or a master. */
	word = strsep(&text, " ");
	l->type = strsep(&text, " ");
	return word != NULL && strcmp(word, "-") == 0 && l->type != NULL;
}

/* What covers a part of /proc is a part of it, or of our /dev, or empty. */
static bool covers_proc(const struct line *l)
{
	return strncmp(l->at, "/proc/", 6) == 0 &&
	       (strcmp(l->type, "tmpfs") == 0 || strcmp(l->type, "proc") == 0);
}

static bool is_ours(const struct line *l, bool seen[MADE])
{
	for (size_t i = 0; i < MADE; i++)
		if (strcmp(l->at, made[i].at) == 0) {
			bool first = !seen[i];

			seen[i] = true;
			return first && strcmp(l->type, made[i].type) == 0;
		}
	return covers_proc(l);
}

bool mount_check_text(char *text)
{
	bool seen[MADE] = {false};

	errno = EXDEV;
	while (text != NULL && *text != '\0') {
		struct line l;

		if (!cut(strsep(&text, "\n"), &l) || !is_ours(&l, seen))
			return false;
	}
	for (size_t i = 0; i < MADE; i++)
		if (made[i].needed && !seen[i])
			return false;
	return true;
}

bool mount_check(int self)
{
	OWN(own_fd)
	int fd = openat(self, "mountinfo", O_RDONLY | O_CLOEXEC);
	char text[TEXT_MAX];
	size_t have = 0;
	ssize_t n = 0;

	while (fd >= 0 && have < sizeof(text) - 1 &&
	       (n = read(fd, text + have, sizeof(text) - 1 - have)) > 0)
		have += (size_t)n;
	if (fd < 0 || n < 0)
		return false;
	text[have] = '\0';
	errno = E2BIG;
	return n == 0 && mount_check_text(text);
}
