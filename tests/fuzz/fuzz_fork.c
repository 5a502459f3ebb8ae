/*
 * A worker's wish to have a context forked, on R/fork.sock: the first byte
 * says how many descriptors come along and of which kind, the rest is the
 * datagram. What passes names no path and comes with the right four; of what
 * does not, no descriptor is kept.
 */
#include <fcntl.h>

#include "sandbox/zygote_door.c" /* for what it receives */
#include "tests/fuzz/fuzz.h"

static int kinds[4]; /* a pipe's end, a stream socket, a datagram one, a file */

static void once(void)
{
	int p[2], s[2];

	if (kinds[1] > 0)
		return;
	must(pipe(p) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	kinds[0] = p[1];
	kinds[1] = s[0];
	kinds[2] = socket(AF_UNIX, SOCK_DGRAM, 0);
	kinds[3] = open("/proc/self/exe", O_RDONLY);
	must(kinds[2] > 0 && kinds[3] > 0);
}

static void post(int to, uint8_t how, const uint8_t *p, size_t n)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control = {0};
	union {
		const uint8_t *from;
		void *base;
	} data = {.from = p};
	struct iovec v = {.iov_base = data.base, .iov_len = n};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	size_t nfds = how % 8;
	int fds[8];

	for (size_t i = 0; i < nfds; i++)
		fds[i] = kinds[i < 3 ? how >> 6 & 2 : how >> 3 & 3];
	if (nfds > 0) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		control.head = (struct cmsghdr){
		    .cmsg_level = SOL_SOCKET,
		    .cmsg_type = SCM_RIGHTS,
		    .cmsg_len = CMSG_LEN(nfds * sizeof(int))};
		memcpy(CMSG_DATA(&control.head), fds, nfds * sizeof(int));
	}
	must(sendmsg(to, &m, MSG_NOSIGNAL) == (ssize_t)n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct door_msg got = {.fds = {-1, -1, -1, -1}};
	int s[2], first, again;

	if (n < 2 || n > 4096)
		return 0;
	once();
	first = dup(0);
	close(first);
	must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s) == 0);
	post(s[0], data[0], data + 1, n - 1);
	if (door_receive(s[1], &got)) {
		must(id_sandbox_ok(got.req.id) && data[0] % 8 == FORK_FDS);
		must(strlen(got.req.image) < sizeof(got.req.image) &&
		     strchr(got.req.image, '/') == NULL &&
		     strchr(got.req.language, '/') == NULL &&
		     got.req.user <= INIT_USER_SANDBOX);
		must((data[0] >> 3 & 3) == 1);
	}
	door_msg_close(&got);
	close(s[0]);
	close(s[1]);
	again = dup(0);
	close(again);
	must(again == first); /* nothing stays open */
	return 0;
}
