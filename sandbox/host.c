#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "sandbox/host.h"

/* Each user's share of inotify must cover a sandbox's own limit (limits.c):
 * a sandbox's user namespace is made by an id that makes nothing else. */
static const struct {
	const char *path;
	long least;
} shares[] = {
    {"/proc/sys/fs/inotify/max_user_instances", 128},
    {"/proc/sys/fs/inotify/max_user_watches", 65536},
    /* 64 for each of 1000 sandboxes (mount.c) */
    {"/proc/sys/kernel/pty/max", 65536},
};

static void read_text(const char *path, char *text, size_t size)
{
	OWN(own_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

enum err host_core_pattern(const char *pattern, bool allowed, struct errinfo *e)
{
	if (pattern[0] != '|' && pattern[0] != '@')
		return ERR_NONE;
	err_set(e, ERR_STATE, 0,
		"kernel.core_pattern starts a program as root for crashes, "
		"those in sandboxes too (%.60s): run \"sysctl "
		"kernel.core_pattern=core\", and put that into /etc/sysctl.d",
		pattern);
	if (!allowed)
		return ERR_STATE;
	log_err("allowed by --allow-core-handler", e);
	return ERR_NONE;
}

static void raise_to(const char *path, long least)
{
	OWN(own_fd) int fd = -1;
	char text[32];
	long now;
	int n;

	read_text(path, text, sizeof(text));
	now = strtol(text, NULL, 10);
	if (text[0] == '\0' || now >= least)
		return;
	n = snprintf(text, sizeof(text), "%ld", least);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, text, (size_t)n) == n)
		log_line(LOG_INFO, "%s was %ld, is %ld", path, now, least);
	else
		log_line(LOG_WARN, "%s is %ld and cannot be raised: %s", path,
			 now, strerrordesc_np(errno));
}

enum err host_prepare(bool core_handler, struct errinfo *e)
{
	char pattern[256];
	enum err r;

	read_text("/proc/sys/kernel/core_pattern", pattern, sizeof(pattern));
	r = host_core_pattern(pattern, core_handler, e);
	if (r != ERR_NONE)
		return r;
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		raise_to(shares[i].path, shares[i].least);
	return ERR_NONE;
}
