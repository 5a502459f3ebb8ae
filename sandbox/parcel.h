/* One message with descriptors on a SEQPACKET socket between our own
 * processes of one machine. */
#ifndef SANDBOX_PARCEL_H
#define SANDBOX_PARCEL_H

#include <stdbool.h>
#include <stddef.h>

#define PARCEL_FDS_MAX 16

struct parcel_fds {
	int at[PARCEL_FDS_MAX];
	int n;
};

/**
 * parcel_send(to, data, size, fds, flags):
 * The whole message, or false with errno. The descriptors stay the caller's.
 * ${flags}: MSG_DONTWAIT or 0.
 */
bool parcel_send(int to, const void *data, size_t size,
		 const struct parcel_fds *fds, int flags);

/**
 * parcel_receive(from, data, size, fds, flags):
 * A message of exactly ${size} bytes. False: errno is EAGAIN when nothing is
 * there, ECONNRESET when the other end is gone, EPROTO for another size.
 * Owns: the descriptors (CLOEXEC) are the caller's: parcel_close().
 */
bool parcel_receive(int from, void *data, size_t size, struct parcel_fds *fds,
		    int flags);

/** parcel_close(fds): All of them. */
void parcel_close(struct parcel_fds *fds);

#endif
