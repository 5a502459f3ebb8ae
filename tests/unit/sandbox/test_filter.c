/*
 * filter: what it lets through and how it refuses. It is loaded in a forked
 * child; nothing is tried there that would do harm if it were let through.
 */
#include "tests/unit/sandbox/root_unit.h"

#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "sandbox/filter.h"

static struct filter filter;

static int compile(void **state)
{
	struct errinfo e;

	(void)state;
	return filter_compile(&filter, &e) == ERR_NONE ? 0 : -1;
}

static int release(void **state)
{
	(void)state;
	filter_free(&filter);
	return 0;
}

struct attempt {
	long nr;
	long args[6];
};

static int try_it(void *arg)
{
	const struct attempt *a = arg;
	long r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    filter_load(&filter) < 0)
		return 255;
	r = syscall(a->nr, a->args[0], a->args[1], a->args[2], a->args[3],
		    a->args[4], a->args[5]);
	return r == -1 ? errno : 0;
}

/* The errno that the call fails with, 0 when it works. */
static int errno_of(struct attempt a)
{
	return apart(try_it, &a);
}

static void known_bad_calls_are_not_permitted(void **state)
{
	static const long bad[] = {
	    SYS_mount,         SYS_umount2,       SYS_ptrace,
	    SYS_unshare,       SYS_setns,         SYS_keyctl,
	    SYS_add_key,       SYS_request_key,   SYS_bpf,
	    SYS_pivot_root,    SYS_chroot,        SYS_process_vm_readv,
	    SYS_init_module,   SYS_kexec_load,    SYS_open_by_handle_at,
	    SYS_fanotify_init, SYS_userfaultfd,   SYS_perf_event_open,
	    SYS_swapon,        SYS_reboot,        SYS_syslog,
	    SYS_open_tree,     SYS_mount_setattr, SYS_pidfd_getfd,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(
		    errno_of((struct attempt){bad[i], {-1, -1, -1, -1}}),
		    EPERM);
}

static void unknown_numbers_are_not_there(void **state)
{
	static const long unknown[] = {
	    SYS_io_uring_setup, SYS_io_setup, 457, 458, 500, 600, 1000};

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		assert_int_equal(
		    errno_of((struct attempt){unknown[i], {-1, -1, -1}}),
		    ENOSYS);
}

static void a_namespace_is_refused_by_each_of_its_flags(void **state)
{
	static const long flags[] = {CLONE_NEWNS,   CLONE_NEWCGROUP,
				     CLONE_NEWUTS,  CLONE_NEWIPC,
				     CLONE_NEWPID,  CLONE_NEWNET,
				     CLONE_NEWUSER, 0x80 /* CLONE_NEWTIME */};

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		assert_int_equal(
		    errno_of((struct attempt){SYS_clone, {flags[i] | SIGCHLD}}),
		    EPERM);
		assert_int_equal(
		    errno_of((struct attempt){
			SYS_clone, {flags[i] | CLONE_NEWUSER | SIGCHLD}}),
		    EPERM);
	}
	assert_int_equal(errno_of((struct attempt){SYS_clone, {SIGCHLD}}), 0);
}

static int socket_errno(long family, long type, long protocol)
{
	return errno_of((struct attempt){SYS_socket, {family, type, protocol}});
}

static void sockets_are_of_four_families(void **state)
{
	(void)state;
	assert_int_equal(socket_errno(AF_UNIX, SOCK_STREAM, 0), 0);
	assert_int_equal(socket_errno(AF_INET, SOCK_STREAM, 0), 0);
	assert_int_equal(socket_errno(AF_INET, SOCK_DGRAM, IPPROTO_UDP), 0);
	assert_int_equal(socket_errno(AF_INET6, SOCK_STREAM, IPPROTO_TCP), 0);
	assert_int_equal(socket_errno(AF_NETLINK, SOCK_RAW, 0), 0);
	for (long family = 0; family < 64; family++)
		if (family != AF_UNIX && family != AF_INET &&
		    family != AF_INET6 && family != AF_NETLINK)
			assert_int_equal(socket_errno(family, SOCK_DGRAM, 0),
					 EAFNOSUPPORT);
}

static void protocols_that_load_modules_are_refused(void **state)
{
	static const long protocols[] = {33, 132, 136, 262, 2, 47, 255};

	(void)state;
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(
		    socket_errno(AF_INET, SOCK_STREAM, protocols[i]),
		    EPROTONOSUPPORT);
		assert_int_equal(
		    socket_errno(AF_INET6, SOCK_STREAM, protocols[i]),
		    EPROTONOSUPPORT);
		assert_int_equal(
		    socket_errno(AF_NETLINK, SOCK_RAW, protocols[i]),
		    EPROTONOSUPPORT);
	}
}

static void a_pair_of_sockets_is_a_unix_one(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(errno_of((struct attempt){
			     SYS_socketpair,
			     {AF_UNIX, SOCK_STREAM, 0, (long)(intptr_t)fds}}),
			 0);
	for (long family = 2; family < 64; family++)
		assert_int_equal(
		    errno_of((struct attempt){
			SYS_socketpair,
			{family, SOCK_STREAM, 0, (long)(intptr_t)fds}}),
		    EAFNOSUPPORT);
}

/* In the counting filter: with a listener that nobody serves any more. */
static int unserved(void *arg)
{
	int listener, r;

	(void)arg;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    filter_load_counting(&filter.counting, &filter.fprog, &listener) <
		0 ||
	    listener < 0)
		return 255;
	close(listener);
	r = (int)syscall(SYS_mount, -1, -1, -1, 0, 0);
	return r == -1 ? errno : 0;
}

static void without_its_listener_a_counted_call_is_not_there(void **state)
{
	(void)state;
	assert_int_equal(apart(unserved, NULL), ENOSYS);
}

/* Below a listener of another's: nothing is counted, all is refused. */
static int below_another(void *arg)
{
	int first, second, r;

	(void)arg;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    filter_load_counting(&filter.counting, &filter.fprog, &first) < 0)
		return 255;
	if (filter_load_counting(&filter.counting, &filter.fprog, &second) < 0)
		return 254;
	if (first < 0 || second != -1)
		return 253;
	/* The plain one's answer is the stricter: nobody is asked. */
	r = (int)syscall(SYS_mount, -1, -1, -1, 0, 0);
	return r == -1 ? errno : 0;
}

static void a_second_listener_is_done_without(void **state)
{
	(void)state;
	assert_int_equal(apart(below_another, NULL), EPERM);
}

static void only_harmless_personalities_are_taken(void **state)
{
	(void)state;
	assert_int_equal(
	    errno_of((struct attempt){SYS_personality, {0xffffffff}}), 0);
	/* READ_IMPLIES_EXEC, ADDR_NO_RANDOMIZE, ADDR_COMPAT_LAYOUT */
	assert_int_not_equal(
	    errno_of((struct attempt){SYS_personality, {0x0400000}}), 0);
	assert_int_not_equal(
	    errno_of((struct attempt){SYS_personality, {0x0040000}}), 0);
	assert_int_not_equal(
	    errno_of((struct attempt){SYS_personality, {0x0200000}}), 0);
}

static int set_core(void *arg)
{
	const struct attempt *a = arg;
	struct rlimit one = {1, 1}, other = {0, 0}, is = {7, 7};

	setrlimit(RLIMIT_CORE, &one);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    filter_load(&filter) < 0)
		return 255;
	if (a->nr == SYS_setrlimit
		? syscall(SYS_setrlimit, a->args[0], &other)
		: syscall(SYS_prlimit64, 0, a->args[0], &other, &is))
		return errno;
	return prlimit(0, RLIMIT_CORE, NULL, &is) != 0 ? errno
						       : (int)is.rlim_cur;
}

static void the_limit_of_cores_stays_where_handlers_are_not_run(void **state)
{
	/* The kernel looks at the low half. */
	static const long ones[] = {RLIMIT_CORE, RLIMIT_CORE | 1L << 32,
				    RLIMIT_CORE | ~0xffffffffL};

	(void)state;
	for (size_t i = 0; i < sizeof(ones) / sizeof(ones[0]); i++) {
		struct attempt set = {SYS_setrlimit, {ones[i]}};
		struct attempt pr = {SYS_prlimit64, {ones[i]}};

		assert_int_equal(apart(set_core, &set), 1);
		assert_int_equal(apart(set_core, &pr), 1);
	}
}

static int set_files(void *arg)
{
	struct rlimit few = {9, 9}, is = {0, 0};

	(void)arg;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    filter_load(&filter) < 0)
		return 255;
	if (syscall(SYS_setrlimit, RLIMIT_NOFILE, &few) != 0)
		return errno;
	few = (struct rlimit){8, 8};
	if (prlimit(0, RLIMIT_NOFILE, &few, NULL) != 0)
		return errno;
	return getrlimit(RLIMIT_NOFILE, &is) != 0 ? errno : (int)is.rlim_max;
}

static void other_limits_can_be_lowered(void **state)
{
	(void)state;
	assert_int_equal(apart(set_files, NULL), 8);
}

#ifdef __x86_64__
static int foreign_call(void)
{
	long r;

	signal(SIGSEGV, SIG_DFL); /* it is cmocka's */
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory");
	return r > 0 ? 1 : 2;
}

static int foreign_free(void *arg)
{
	(void)arg;
	return foreign_call();
}

static int foreign(void *arg)
{
	(void)arg;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    filter_load(&filter) < 0)
		return 255;
	return foreign_call();
}

static void a_foreign_architecture_kills(void **state)
{
	(void)state;
	/* Some virtual machines have no such calls at all. */
	if (apart(foreign_free, NULL) == 128 + SIGSEGV)
		assert_int_equal(apart(foreign, NULL), 128 + SIGSEGV);
	else
		assert_int_equal(apart(foreign, NULL), 128 + SIGSYS);
	/* x32 */
	assert_int_equal(errno_of((struct attempt){0x40000000 | 39, {0}}),
			 128 + SIGSYS);
}
#endif

static void what_programs_need_is_let_through(void **state)
{
	(void)state;
	assert_int_equal(errno_of((struct attempt){SYS_getpid, {0}}), 0);
	assert_int_equal(errno_of((struct attempt){SYS_fork, {0}}), 0);
	/* Not the filter's but the kernel's word: */
	assert_int_equal(errno_of((struct attempt){SYS_openat, {-1, 0}}),
			 EFAULT);
	assert_int_equal(errno_of((struct attempt){SYS_clone3, {0, 0}}),
			 EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(known_bad_calls_are_not_permitted),
	    cmocka_unit_test(unknown_numbers_are_not_there),
	    cmocka_unit_test(a_namespace_is_refused_by_each_of_its_flags),
	    cmocka_unit_test(sockets_are_of_four_families),
	    cmocka_unit_test(protocols_that_load_modules_are_refused),
	    cmocka_unit_test(a_pair_of_sockets_is_a_unix_one),
	    cmocka_unit_test(without_its_listener_a_counted_call_is_not_there),
	    cmocka_unit_test(a_second_listener_is_done_without),
	    cmocka_unit_test(only_harmless_personalities_are_taken),
	    cmocka_unit_test(
		the_limit_of_cores_stays_where_handlers_are_not_run),
	    cmocka_unit_test(other_limits_can_be_lowered),
#ifdef __x86_64__
	    cmocka_unit_test(a_foreign_architecture_kills),
#endif
	    cmocka_unit_test(what_programs_need_is_let_through),
	};

	return cmocka_run_group_tests(tests, compile, release);
}
