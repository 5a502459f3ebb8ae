/* Ownership of locals: OWN(fn) frees at scope end, STEAL(p) hands over. */
#ifndef BASE_OWN_H
#define BASE_OWN_H

#include <stdlib.h>
#include <unistd.h>

/* OWN(x_free) struct x *p = NULL;  -- x_free takes struct x ** */
#define OWN(fn) __attribute__((cleanup(fn)))

/* The pointer's value; the variable is NULL afterwards. */
#define STEAL(p)                                                               \
	__extension__({                                                        \
		__typeof__(p) own_v_ = (p);                                    \
		(p) = NULL;                                                    \
		own_v_;                                                        \
	})

/* The descriptor's number; the variable is -1 afterwards. */
#define STEAL_FD(fd)                                                           \
	__extension__({                                                        \
		int own_fd_ = (fd);                                            \
		(fd) = -1;                                                     \
		own_fd_;                                                       \
	})

/** own_fd(fd): For OWN(own_fd) int fd = -1; closes it if it is open. */
static inline void own_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/** own_mem(p): For OWN(own_mem) on any pointer from malloc. */
static inline void own_mem(void *p)
{
	void **pp = p;

	free(*pp);
	*pp = NULL;
}

#endif
