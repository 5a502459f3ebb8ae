/*
 * What the broker tells a zygote: the first byte says how many descriptors
 * come along, the rest is the datagram. One that is malformed is answered,
 * and none of its descriptors is kept.
 */
#include "sandbox/enter.c" /* for what it reads */
#include "tests/fuzz/fuzz.h"

static void post(int to, size_t count, const uint8_t *p, size_t n)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(16 * sizeof(int))];
	} control = {0};
	union {
		const uint8_t *from;
		void *base;
	} data = {.from = p};
	struct iovec v = {.iov_base = data.base, .iov_len = n};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	int some[16] = {0};

	if (count > 0) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.head = (struct cmsghdr){
		    .cmsg_level = SOL_SOCKET,
		    .cmsg_type = SCM_RIGHTS,
		    .cmsg_len = CMSG_LEN(count * sizeof(int))};
		memcpy(CMSG_DATA(&control.head), some, count * sizeof(int));
	}
	must(sendmsg(to, &m, MSG_NOSIGNAL) == (ssize_t)n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static int moved = -1;
	struct zygote_say answer;
	int s[2], first, again, high;
	bool taken;

	if (n < 2 || n > 4096)
		return 0;
	if (moved < 0) { /* what is there is out of the way from now on */
		moved = fcntl(ZYGOTE_FD_BROKER, F_DUPFD_CLOEXEC, 100);
		moved = moved < 0 ? 0 : moved;
	}
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s) == 0);
	high = fcntl(s[0], F_DUPFD_CLOEXEC, 200);
	must(high >= 0 && dup2(s[1], ZYGOTE_FD_BROKER) == ZYGOTE_FD_BROKER);
	for (int i = 0; i < 2; i++)
		if (s[i] != ZYGOTE_FD_BROKER)
			close(s[i]);
	first = dup(0);
	close(first);
	post(high, data[0] % 16, data + 1, n - 1);
	shutdown(high, SHUT_WR);
	taken = enter_wait() == 0;
	if (taken) {
		must(n - 1 == sizeof(request) && nfds >= ZYGOTE_FDS_MIN &&
		     nfds <= ZYGOTE_FDS_MAX);
		must(request.magic == ZYGOTE_MAGIC &&
		     request.user <= INIT_USER_SANDBOX &&
		     strlen(enter_language()) <= ZYGOTE_LANGUAGE_MAX);
	} else {
		must(recv(high, &answer, sizeof(answer), MSG_DONTWAIT) ==
		     sizeof(answer));
		must(answer.what == ZYGOTE_FAILED &&
		     answer.step == ZYGOTE_STEP_REQUEST && answer.zero == 0);
	}
	drop_fds();
	again = dup(0);
	close(again);
	must(again == first);
	close(high);
	close(ZYGOTE_FD_BROKER);
	return 0;
}
