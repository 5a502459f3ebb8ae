/* Apart from filter.c, which needs libseccomp: zygotes load filters too. */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/filter.h"

int filter_load_counting(const struct sock_fprog *counting,
			 const struct sock_fprog *plain, int *listener)
{
	*listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				 SECCOMP_FILTER_FLAG_NEW_LISTENER, counting);
	if (*listener >= 0)
		return 0;
	if (errno != EBUSY)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, plain);
}
