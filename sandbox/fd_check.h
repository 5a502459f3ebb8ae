/* Which descriptors a program is about to start with. */
#ifndef SANDBOX_FD_CHECK_H
#define SANDBOX_FD_CHECK_H

#include <stdbool.h>
#include <stdint.h>

/* Those from 0 to ${n} - 1. */
#define FD_CHECK_FIRST(n) ((UINT64_C(1) << (n)) - 1)

/**
 * fd_check(list, known, exec):
 * Debug builds: true if no descriptor is open, as /proc/self/fd (${list};
 * read from where it stands) says, but those whose bits are in ${known}; with
 * ${exec}, those that close at exec do not count. Else false, and errno is
 * EBADFD. Release builds: true. Fit for use between clone and exec.
 * fd_check_own(known, exec): The list is opened, too.
 */
#ifndef NDEBUG
bool fd_check(int list, uint64_t known, bool exec);
bool fd_check_own(uint64_t known, bool exec);
#else
static inline bool fd_check(int list, uint64_t known, bool exec)
{
	(void)list;
	(void)known;
	(void)exec;
	return true;
}

static inline bool fd_check_own(uint64_t known, bool exec)
{
	(void)known;
	(void)exec;
	return true;
}
#endif
#endif
