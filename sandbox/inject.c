#include "sandbox/inject.h"

#ifndef NDEBUG
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/own.h"

static struct inject *inject;

bool inject_at(enum inject_point point)
{
	if (inject == NULL)
		return false;
	__atomic_add_fetch(&inject->reached[point], 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&inject->armed, __ATOMIC_RELAXED) != point)
		return false;
	errno = EIO;
	return true;
}

/* Zygotes do not share the memory: they are told with the request. */
uint32_t inject_enter(void)
{
	uint32_t armed = inject == NULL ? 0 : inject->armed;

	if (armed < INJECT_ENTER_PID_NS || armed >= INJECT_COUNT)
		return 0;
	inject->reached[armed]++;
	return armed - INJECT_ENTER_PID_NS + 1;
}

void inject_use(struct inject *shared)
{
	inject = shared;
}

void inject_open(int dir)
{
	OWN(own_fd)
	int fd = openat(dir, "inject", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	void *at;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != 0 ||
	    st.st_size != (off_t)sizeof(struct inject))
		return;
	at = mmap(NULL, sizeof(struct inject), PROT_READ | PROT_WRITE,
		  MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return;
	log_line(LOG_WARN, "a test lets steps fail");
	inject_use(at);
}

void inject_use_of(const char *point)
{
	OWN(own_fd)
	int mnt = open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	OWN(own_fd)
	int run = openat(mnt, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	inject_open(run);
}
#endif
