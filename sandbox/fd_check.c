#include "sandbox/fd_check.h"

#ifndef NDEBUG
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"

struct entry { /* struct linux_dirent64 */
	uint64_t ino;
	int64_t off;
	unsigned short size;
	unsigned char type;
	char name[];
};

static bool is_known(long fd, int list, uint64_t known, bool exec)
{
	return (fd < 64 && (known >> fd & 1) != 0) || fd == list ||
	       (exec && (fcntl((int)fd, F_GETFD) & FD_CLOEXEC) != 0);
}

bool fd_check(int list, uint64_t known, bool exec)
{
	_Alignas(struct entry) char room[4096];
	long got;

	while ((got = syscall(SYS_getdents64, list, room, sizeof(room))) > 0)
		for (long at = 0; at < got;) {
			const struct entry *d = (const void *)(room + at);

			at += d->size;
			if (d->name[0] == '.' ||
			    is_known(strtol(d->name, NULL, 10), list, known,
				     exec))
				continue;
			errno = EBADFD;
			return false;
		}
	return got == 0;
}

bool fd_check_own(uint64_t known, bool exec)
{
	OWN(own_fd)
	int list = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return list >= 0 && fd_check(list, known, exec);
}
#endif
