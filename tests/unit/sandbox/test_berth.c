/* berth: a range of ids, namespaces that map it, a network of its own. */
#include "tests/unit/sandbox/root_unit.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "sandbox/berth.h"

static struct berth_pool pool;

static void take(struct berth *b)
{
	struct errinfo e = {0};

	if (berth_take(&pool, b, &e) != ERR_NONE)
		fail_msg("%s", e.text);
}

/* What /proc/self/uid_map shows of a process in ${ns}. */
static int map_is(void *arg)
{
	const struct berth *b = arg;
	unsigned inside, outside, count;
	FILE *f;

	if (setns(b->user_ns, CLONE_NEWUSER) < 0)
		return 1;
	f = fopen("/proc/self/uid_map", "r");
	if (f == NULL || fscanf(f, "%u %u %u", &inside, &outside, &count) != 3)
		return 2;
	/* Seen from inside itself, the map is that to the parent's ids. */
	if (inside != 0 || count != BERTH_IDS ||
	    outside != berth_uid(b->slot, 0))
		return 3;
	if (fscanf(f, "%u", &inside) == 1)
		return 4;
	fclose(f);
	return 0;
}

static void ids_are_mapped_to_the_slot_and_nothing_else(void **state)
{
	struct berth b;

	(void)state;
	need_root("to make namespaces");
	take(&b);
	assert_int_equal(apart(map_is, &b), 0);
	berth_close(&b);
	berth_free_slot(&pool, b.slot);
}

static int net_is_fit(void *arg)
{
	const struct berth *b = arg;
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons(80),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct ifreq r = {0};
	int s, other, n = 0;
	struct if_nameindex *names;

	if (setns(b->net_ns, CLONE_NEWNET) < 0)
		return 1;
	names = if_nameindex();
	while (names[n].if_name != NULL)
		n++;
	if (n != 1 || strcmp(names[0].if_name, "lo") != 0)
		return 2;
	s = socket(AF_INET, SOCK_STREAM, 0);
	memcpy(r.ifr_name, "lo", 3);
	if (ioctl(s, SIOCGIFFLAGS, &r) < 0 || (r.ifr_flags & IFF_UP) == 0)
		return 3;
	/* Low ports are for everyone in there. */
	if (syscall(SYS_setresuid, 1000, 1000, 1000) < 0 ||
	    bind(s, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(s, 1) < 0)
		return 4;
	other = socket(AF_INET, SOCK_STREAM, 0);
	return connect(other, (struct sockaddr *)&a, sizeof(a)) < 0 ? 5 : 0;
}

static void its_network_is_an_own_loopback_that_is_up(void **state)
{
	struct berth b;

	(void)state;
	need_root("to make namespaces");
	take(&b);
	assert_int_equal(apart(net_is_fit, &b), 0);
	berth_close(&b);
	berth_free_slot(&pool, b.slot);
}

static void no_slot_is_used_twice_at_a_time(void **state)
{
	struct berth b[12];

	(void)state;
	need_root("to make namespaces");
	for (int i = 0; i < 12; i++) {
		take(&b[i]);
		assert_int_equal(pool.used[b[i].slot], 1);
		for (int j = 0; j < i; j++)
			assert_int_not_equal(b[i].slot, b[j].slot);
	}
	for (int i = 0; i < 12; i++) {
		berth_close(&b[i]);
		berth_free_slot(&pool, b[i].slot);
	}
}

static void a_marked_slot_is_not_given(void **state)
{
	uint32_t slot, next;

	(void)state;
	assert_true(berth_claim(&pool, &slot));
	berth_free_slot(&pool, slot);
	next = pool.next;
	berth_mark_slot(&pool, next);
	for (int i = 0; i < 20; i++) {
		assert_true(berth_claim(&pool, &slot));
		assert_int_not_equal(slot, next);
		berth_free_slot(&pool, slot);
	}
	berth_free_slot(&pool, next);
}

static void a_slot_just_freed_is_the_last_to_be_given_again(void **state)
{
	uint32_t first, slot;

	(void)state;
	assert_true(berth_claim(&pool, &first));
	berth_free_slot(&pool, first);
	for (uint32_t i = 1; i < BERTH_SLOTS; i++) {
		assert_true(berth_claim(&pool, &slot));
		assert_int_not_equal(slot, first);
		berth_free_slot(&pool, slot);
	}
	assert_true(berth_claim(&pool, &slot));
	assert_int_equal(slot, first);
	berth_free_slot(&pool, slot);
}

static void when_all_are_taken_that_is_a_limit(void **state)
{
	static struct berth_pool full;
	struct berth b;
	struct errinfo e;
	uint32_t slot;

	(void)state;
	memset(full.used, 1, sizeof(full.used));
	assert_false(berth_claim(&full, &slot));
	assert_int_equal(berth_take(&full, &b, &e), ERR_LIMIT);
	berth_free_slot(&full, 17);
	assert_true(berth_claim(&full, &slot));
	assert_int_equal(slot, 17);
}

static void ranges_of_ids_do_not_meet(void **state)
{
	uint64_t end = berth_uid(BERTH_SLOTS - 1, BERTH_IDS - 1);

	(void)state;
	for (uint32_t slot = 0; slot + 1 < BERTH_SLOTS; slot++)
		assert_true(berth_uid(slot, BERTH_IDS - 1) <
			    berth_uid(slot + 1, 0));
	assert_true(end < UINT32_MAX);
	assert_true(berth_keeper_uid(BERTH_SLOTS - 1) < BERTH_OWNER_BASE);
	assert_true(BERTH_OWNER_BASE + BERTH_SLOTS <= BERTH_UID_BASE);
	assert_true(BERTH_DISK_BASE + BERTH_IDS <= BERTH_KEEPER_BASE);
}

static int inotify_all(void *arg)
{
	const struct berth *b = arg;
	int n = 0;

	if (setns(b->user_ns, CLONE_NEWUSER) < 0 ||
	    syscall(SYS_setresuid, 0, 0, 0) < 0)
		return 0;
	while (n < 100 && inotify_init1(IN_CLOEXEC) >= 0)
		n++;
	if (b->slot % 2 == 0)
		sleep(1); /* hold them */
	return n;
}

static void what_one_takes_is_not_counted_for_another(void **state)
{
	struct berth a, b;
	pid_t pid;
	int alone;

	(void)state;
	need_root("to make namespaces");
	do
		take(&a);
	while (a.slot % 2 != 0);
	do
		take(&b);
	while (b.slot % 2 == 0);
	alone = apart(inotify_all, &b);
	assert_true(alone > 0);
	pid = fork();
	if (pid == 0)
		_exit(inotify_all(&a));
	usleep(300000);
	assert_int_equal(apart(inotify_all, &b), alone);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	berth_close(&a);
	berth_close(&b);
}

static void making_and_closing_leaves_no_descriptor(void **state)
{
	int before = open_fds();
	struct berth b;

	(void)state;
	need_root("to make namespaces");
	for (int i = 0; i < 10; i++) {
		take(&b);
		berth_close(&b);
		berth_free_slot(&pool, b.slot);
	}
	assert_int_equal(open_fds(), before);
	berth_pool_close(&pool);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ids_are_mapped_to_the_slot_and_nothing_else),
	    cmocka_unit_test(its_network_is_an_own_loopback_that_is_up),
	    cmocka_unit_test(no_slot_is_used_twice_at_a_time),
	    cmocka_unit_test(a_marked_slot_is_not_given),
	    cmocka_unit_test(a_slot_just_freed_is_the_last_to_be_given_again),
	    cmocka_unit_test(when_all_are_taken_that_is_a_limit),
	    cmocka_unit_test(ranges_of_ids_do_not_meet),
	    cmocka_unit_test(what_one_takes_is_not_counted_for_another),
	    cmocka_unit_test(making_and_closing_leaves_no_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
