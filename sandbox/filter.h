/* The system call filter of sandboxes, compiled once per broker. */
#ifndef SANDBOX_FILTER_H
#define SANDBOX_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct filter {
	struct sock_fprog fprog;    /* filter is ours */
	struct sock_fprog counting; /* the same, for a listener */
};

/**
 * filter_compile(p, e):
 * Build the allow list of seccomp.def: what is not listed answers ENOSYS,
 * known-bad calls EPERM, a foreign architecture kills the process. clone3 is
 * let through (init needs it; init's children answer it with ENOSYS). Twice:
 * the second asks a listener about the calls of call_denial.def.
 * Owns: free with filter_free(). Blocks: for a few ms.
 * Errors: ERR_IO (libseccomp or memory).
 */
FALLIBLE enum err filter_compile(struct filter *p, struct errinfo *e);
void filter_free(struct filter *p);

/**
 * filter_share(p), filter_borrow(fd, p), filter_return(p):
 * A file with the filter, which does not change any more, or -1 with errno;
 * the filter in such a file, until it is returned (false: errno), by whoever
 * does not compile it. Owns: the descriptor is the caller's.
 */
int filter_share(const struct filter *p);
bool filter_borrow(int fd, struct filter *p);
void filter_return(struct filter *p);

/** filter_load(p): Confine this thread; 0, or -1 with errno. Needs
 * no_new_privs. Fit for use between clone and exec. */
int filter_load(const struct filter *p);

/**
 * filter_load_counting(counting, plain, listener):
 * The same with a listener, which must answer EPERM to each call that it is
 * told of; without one they are ENOSYS. ${listener} is -1, and all as with
 * filter_load(), where this thread has another's already (EBUSY).
 */
int filter_load_counting(const struct sock_fprog *counting,
			 const struct sock_fprog *plain, int *listener);

#endif
