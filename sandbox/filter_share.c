/* A compiled filter as a file: by whom libseccomp is not loaded. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/filter.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

struct shared {
	uint32_t plain; /* instructions, which follow, … */
	uint32_t counting;
	struct sock_filter code[]; /* … and then these */
};

static bool put(int fd, const void *data, size_t size)
{
	return write(fd, data, size) == (ssize_t)size;
}

int filter_share(const struct filter *p)
{
	const struct shared head = {.plain = p->fprog.len,
				    .counting = p->counting.len};
	OWN(own_fd)
	int fd = memfd_create("filter", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || !put(fd, &head, sizeof(head)) ||
	    !put(fd, p->fprog.filter, p->fprog.len * sizeof(*head.code)) ||
	    !put(fd, p->counting.filter,
		 p->counting.len * sizeof(*head.code)) ||
	    fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return -1;
	return STEAL_FD(fd);
}

static size_t size_of(const struct filter *p)
{
	return sizeof(struct shared) +
	       ((size_t)p->fprog.len + p->counting.len) *
		   sizeof(struct sock_filter);
}

bool filter_borrow(int fd, struct filter *p)
{
	struct shared *s;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	s = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (s == MAP_FAILED)
		return false;
	*p = (struct filter){
	    .fprog = {.len = (unsigned short)s->plain, .filter = s->code},
	    .counting = {.len = (unsigned short)s->counting,
			 .filter = s->code + s->plain}};
	if (size_of(p) == (size_t)st.st_size)
		return true;
	errno = EINVAL;
	return false;
}

void filter_return(struct filter *p)
{
	char *code = (char *)p->fprog.filter;

	munmap(code - offsetof(struct shared, code), size_of(p));
	*p = (struct filter){0};
}
