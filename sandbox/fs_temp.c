#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/fs_temp.h"

#define TRIES 16
#define PREFIX ".warren-"
#define DIGITS 16

void fs_temp_name(char out[FS_TEMP_LEN])
{
	unsigned long long r = 0;

	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != (ssize_t)sizeof(r))
		r = ((unsigned long long)getpid() << 32) ^ (uintptr_t)&r;
	snprintf(out, FS_TEMP_LEN, PREFIX "%016llx", r);
}

bool fs_temp_is(const char *name)
{
	size_t n = sizeof(PREFIX) - 1;

	return strncmp(name, PREFIX, n) == 0 &&
	       strspn(name + n, "0123456789abcdef") == DIGITS &&
	       name[n + DIGITS] == '\0';
}

static int open_named(int dir, struct fs_temp *temp)
{
	int i;

	for (i = 0; i < TRIES; i++) {
		fs_temp_name(temp->name);
		temp->fd = openat(
		    dir, temp->name,
		    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (temp->fd >= 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	temp->name[0] = '\0';
	return -1;
}

int fs_temp_open(int dir, struct fs_temp *temp)
{
	temp->dir = dir;
	temp->name[0] = '\0';
	if (access("/proc/self/fd", X_OK) < 0) /* no way to name it later */
		return open_named(dir, temp);
	temp->fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	if (temp->fd >= 0)
		return 0;
	if (errno == EACCES || errno == EPERM || errno == EROFS ||
	    errno == ENOSPC || errno == EDQUOT)
		return -1;
	return open_named(dir, temp);
}

/* A name for a file without one: link(2) cannot replace, rename(2) can. */
static int link_temp(struct fs_temp *temp)
{
	char self[64];
	int i;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", temp->fd);
	for (i = 0; i < TRIES; i++) {
		fs_temp_name(temp->name);
		if (linkat(AT_FDCWD, self, temp->dir, temp->name,
			   AT_SYMLINK_FOLLOW) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	temp->name[0] = '\0';
	return -1;
}

int fs_temp_commit(struct fs_temp *temp, const char *name, bool fresh)
{
	if (temp->name[0] == '\0' && link_temp(temp) < 0)
		return -1;
	if (renameat2(temp->dir, temp->name, temp->dir, name,
		      fresh ? RENAME_NOREPLACE : 0) < 0)
		return -1;
	temp->name[0] = '\0';
	return 0;
}

void fs_temp_close(struct fs_temp *temp)
{
	if (temp->name[0] != '\0')
		unlinkat(temp->dir, temp->name, 0);
	temp->name[0] = '\0';
	own_fd(&temp->fd);
}
