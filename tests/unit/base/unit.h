/* What every base test needs, in the order that cmocka wants it. */
#ifndef TESTS_UNIT_BASE_UNIT_H
#define TESTS_UNIT_BASE_UNIT_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Open descriptors of this process; the one that counts is not counted. */
static inline int unit_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = -1;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n - 2;
}

#endif
