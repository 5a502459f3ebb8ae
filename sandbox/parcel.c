#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "sandbox/parcel.h"

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int) * PARCEL_FDS_MAX)];
};

bool parcel_send(int to, const void *data, size_t size,
		 const struct parcel_fds *fds, int flags)
{
	union control control = {.room = {0}};
	struct iovec io = {.iov_len = size};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};
	size_t bytes = sizeof(int) * (size_t)fds->n;

	must(fds->n >= 0 && fds->n <= PARCEL_FDS_MAX);
	memcpy(&io.iov_base, &data, sizeof(data)); /* it is only read */
	if (fds->n > 0) {
		m.msg_control = control.room;
		m.msg_controllen = CMSG_SPACE(bytes);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(&control.head), fds->at, bytes);
	}
	return sendmsg(to, &m, MSG_NOSIGNAL | flags) == (ssize_t)size;
}

bool parcel_receive(int from, void *data, size_t size, struct parcel_fds *fds,
		    int flags)
{
	union control control;
	struct iovec io = {.iov_base = data, .iov_len = size};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = control.room,
			   .msg_controllen = sizeof(control.room)};
	struct cmsghdr *c;
	ssize_t n;

	fds->n = 0;
	do {
		n = recvmsg(from, &m, MSG_CMSG_CLOEXEC | flags);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return false;
	c = CMSG_FIRSTHDR(&m);
	if (c != NULL && c->cmsg_level == SOL_SOCKET &&
	    c->cmsg_type == SCM_RIGHTS) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		memcpy(fds->at, CMSG_DATA(c), bytes);
		fds->n = (int)(bytes / sizeof(int));
	}
	if ((size_t)n == size && (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0)
		return true;
	parcel_close(fds);
	errno = n == 0 ? ECONNRESET : EPROTO;
	return false;
}

void parcel_close(struct parcel_fds *fds)
{
	for (int i = 0; i < fds->n; i++)
		close(fds->at[i]);
	fds->n = 0;
}
