#include <errno.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/filter.h"

/* NEWNS, CGROUP, UTS, IPC, USER, PID, NET and TIME */
#define CLONE_NEW_ANY UINT64_C(0x7e020080)

static const char *const allowed[] = {
#define ALLOW(name) #name,
#define DENY(name)
#include "sandbox/seccomp.def"
#undef ALLOW
#undef DENY
};

static const char *const denied[] = {
#define ALLOW(name)
#define DENY(name) #name,
#include "sandbox/seccomp.def"
#undef ALLOW
#undef DENY
};

static const char *const counted[] = {
#define CALL(name) #name,
#include "base/call_denial.def"
#undef CALL
};

/* Newer than Debian 12's libseccomp: futex_wake, futex_wait, futex_requeue,
 * cachestat, fchmodat2, mseal. Same numbers on all architectures. */
static const int by_number[] = {451, 452, 454, 455, 456, 462};

static int add_list(scmp_filter_ctx c, const char *const *names, size_t n,
		    uint32_t action)
{
	for (size_t i = 0; i < n; i++) {
		int nr = seccomp_syscall_resolve_name(names[i]);
		int r;

		if (nr == SCMP_SYS(clone)) /* add_clone() has it */
			continue;
		if (nr == __NR_SCMP_ERROR)
			return -EINVAL; /* a misspelt row */
		r = seccomp_rule_add(c, action, nr, 0);
		if (r < 0)
			return r;
	}
	return 0;
}

static int rule(scmp_filter_ctx c, uint32_t action, int nr, unsigned n,
		const struct scmp_arg_cmp *args)
{
	return seccomp_rule_add_array(c, action, nr, n, args);
}

/* Protocols of the internet; any other could load a module of the kernel. */
static int add_protocols(scmp_filter_ctx c, uint64_t family)
{
	static const uint64_t allowed_ones[] = {0, IPPROTO_ICMP, IPPROTO_TCP,
						IPPROTO_UDP, IPPROTO_ICMPV6};
	uint32_t no = SCMP_ACT_ERRNO(EPROTONOSUPPORT);
	int r = 0;

	for (uint64_t p = 0; p <= IPPROTO_ICMPV6 && r == 0; p++) {
		uint32_t action = no;

		for (size_t i = 0; i < 5; i++)
			if (allowed_ones[i] == p)
				action = SCMP_ACT_ALLOW;
		r = rule(c, action, SCMP_SYS(socket), 2,
			 (struct scmp_arg_cmp[]){SCMP_A0(SCMP_CMP_EQ, family),
						 SCMP_A2(SCMP_CMP_EQ, p)});
	}
	return r != 0 ? r
		      : rule(c, no, SCMP_SYS(socket), 2,
			     (struct scmp_arg_cmp[]){
				 SCMP_A0(SCMP_CMP_EQ, family),
				 SCMP_A2(SCMP_CMP_GT, IPPROTO_ICMPV6)});
}

static int add_socket(scmp_filter_ctx c)
{
	uint32_t no = SCMP_ACT_ERRNO(EAFNOSUPPORT);
	int r = 0;

	for (uint64_t f = 0; f <= AF_NETLINK && r == 0; f++) {
		if (f == AF_INET || f == AF_INET6 || f == AF_NETLINK)
			continue;
		r = rule(c, f == AF_UNIX ? SCMP_ACT_ALLOW : no,
			 SCMP_SYS(socket), 1, &SCMP_A0(SCMP_CMP_EQ, f));
	}
	if (r == 0)
		r = rule(c, no, SCMP_SYS(socket), 1,
			 &SCMP_A0(SCMP_CMP_GT, AF_NETLINK));
	if (r == 0)
		r = add_protocols(c, AF_INET);
	if (r == 0)
		r = add_protocols(c, AF_INET6);
	if (r == 0) /* NETLINK_ROUTE: getifaddrs */
		r = rule(
		    c, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2,
		    (struct scmp_arg_cmp[]){SCMP_A0(SCMP_CMP_EQ, AF_NETLINK),
					    SCMP_A2(SCMP_CMP_EQ, 0)});
	if (r == 0)
		r = rule(
		    c, SCMP_ACT_ERRNO(EPROTONOSUPPORT), SCMP_SYS(socket), 2,
		    (struct scmp_arg_cmp[]){SCMP_A0(SCMP_CMP_EQ, AF_NETLINK),
					    SCMP_A2(SCMP_CMP_NE, 0)});
	if (r == 0)
		r = rule(c, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
			 &SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	return r != 0 ? r
		      : rule(c, no, SCMP_SYS(socketpair), 1,
			     &SCMP_A0(SCMP_CMP_NE, AF_UNIX));
}

/* Any of the NEW* flags is refused; without one it is fork or a thread. */
static int add_clone(scmp_filter_ctx c, uint32_t no)
{
	int r = rule(c, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
		     &SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEW_ANY, 0));

	for (int i = 0; i < 64 && r == 0; i++) {
		uint64_t bit = UINT64_C(1) << i;

		if ((CLONE_NEW_ANY & bit) != 0)
			r = rule(c, no, SCMP_SYS(clone), 1,
				 &SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit));
	}
	return r;
}

/*
 * The limit of core files is 1 byte and stays so: to the kernel that means no
 * file, and that it starts no handler either (coredump.c); 0 would start it.
 * Whoever sets it is told that it is done. The resource is 32 bits wide.
 */
static int add_limits(scmp_filter_ctx c)
{
	/* Of the kernel's 16 only RLIMIT_CORE, 4, has neither of these. */
	static const struct {
		uint64_t mask;
		uint64_t value;
	} others[] = {{4, 0}, {1, 1}, {2, 2}, {8, 8}};
	const uint64_t low = UINT32_MAX;
	int r = rule(c, SCMP_ACT_ERRNO(0), SCMP_SYS(setrlimit), 1,
		     &SCMP_A0(SCMP_CMP_MASKED_EQ, low, RLIMIT_CORE));

	_Static_assert(RLIMIT_CORE == 4 && RLIM_NLIMITS == 16, "the bits");
	if (r == 0) /* reading is no matter */
		r = rule(c, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
			 &SCMP_A2(SCMP_CMP_EQ, 0));
	if (r == 0)
		r = rule(c, SCMP_ACT_ERRNO(0), SCMP_SYS(prlimit64), 2,
			 (struct scmp_arg_cmp[]){
			     SCMP_A1(SCMP_CMP_MASKED_EQ, low, RLIMIT_CORE),
			     SCMP_A2(SCMP_CMP_NE, 0)});
	for (size_t i = 0; i < 4 && r == 0; i++) {
		struct scmp_arg_cmp other = SCMP_A0(
		    SCMP_CMP_MASKED_EQ, others[i].mask, others[i].value);

		r = rule(c, SCMP_ACT_ALLOW, SCMP_SYS(setrlimit), 1, &other);
		other.arg = 1;
		if (r == 0)
			r = rule(c, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
				 &other);
	}
	return r;
}

static int add_conditional(scmp_filter_ctx c, uint32_t no)
{
	static const uint64_t personas[] = {0, 8, 0x20000, 0x20008, 0xffffffff};
	int r = add_clone(c, no);

	if (r == 0)
		r = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(clone3), 0);
	for (size_t i = 0; i < 5 && r == 0; i++)
		r = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(personality),
				     1, SCMP_A0(SCMP_CMP_EQ, personas[i]));
	if (r == 0)
		r = add_limits(c);
	return r != 0 ? r : add_socket(c);
}

/* ${no}: what is answered to those that are counted. */
static int build(scmp_filter_ctx c, uint32_t no)
{
	int r = seccomp_attr_set(c, SCMP_FLTATR_ACT_BADARCH,
				 SCMP_ACT_KILL_PROCESS);

	if (r == 0)
		r = seccomp_attr_set(c, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0)
		r = add_list(c, allowed, sizeof(allowed) / sizeof(char *),
			     SCMP_ACT_ALLOW);
	if (r == 0)
		r = add_list(c, denied, sizeof(denied) / sizeof(char *),
			     SCMP_ACT_ERRNO(EPERM));
	if (r == 0)
		r = add_list(c, counted, sizeof(counted) / sizeof(char *), no);
	for (size_t i = 0; i < sizeof(by_number) / sizeof(int) && r == 0; i++)
		r = seccomp_rule_add(c, SCMP_ACT_ALLOW, by_number[i], 0);
	return r != 0 ? r : add_conditional(c, no);
}

static enum err compile(uint32_t no, struct sock_fprog *out, struct errinfo *e)
{
	OWN(own_fd) int fd = memfd_create("seccomp", MFD_CLOEXEC);
	OWN(own_mem) struct sock_filter *f = NULL;
	scmp_filter_ctx c = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	struct stat st;
	int r;

	if (fd < 0 || c == NULL) {
		seccomp_release(c);
		return err_set(e, ERR_IO, errno, "seccomp");
	}
	r = build(c, no);
	if (r == 0)
		r = seccomp_export_bpf(c, fd);
	seccomp_release(c);
	if (r < 0)
		return err_set(e, ERR_IO, -r, "seccomp rules");
	if (fstat(fd, &st) < 0)
		return err_set(e, ERR_IO, errno, "seccomp");
	f = malloc((size_t)st.st_size);
	if (f == NULL || pread(fd, f, (size_t)st.st_size, 0) != st.st_size)
		return err_set(e, ERR_IO, errno, "seccomp program");
	out->len = (unsigned short)((size_t)st.st_size / sizeof(*f));
	out->filter = STEAL(f);
	return ERR_NONE;
}

enum err filter_compile(struct filter *p, struct errinfo *e)
{
	enum err r = compile(SCMP_ACT_ERRNO(EPERM), &p->fprog, e);

	if (r != ERR_NONE)
		return r;
	r = compile(SCMP_ACT_NOTIFY, &p->counting, e);
	if (r != ERR_NONE)
		filter_free(p);
	return r;
}

void filter_free(struct filter *p)
{
	free(p->fprog.filter);
	free(p->counting.filter);
	p->fprog.filter = p->counting.filter = NULL;
}

int filter_load(const struct filter *p)
{
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p->fprog);
}
