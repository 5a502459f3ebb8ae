/* The rulesets are loaded by nft, and their sets changed by our messages, in
 * a network namespace of the test's own. */
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/own.h"
#include "sandbox/berth.h"
#include "sandbox/net_link.h"
#include "sandbox/net_rules.h"
#include "sandbox/net_set.h"

#define SHOWN_BYTES (1U << 20)

static struct net_conf conf;
static struct net_lists *lists[BERTH_SLOTS];
static struct mnl_socket *nf;

static struct net_rules input(void)
{
	static const uint32_t dns[] = {0x09090909};
	static const struct broker_cidr hosts[] = {
	    {.addr = 0xc6336402, .prefix = 24}, {.addr = 0x7f000001}};

	return (struct net_rules){.conf = &conf,
				  .dns = dns,
				  .ndns = 1,
				  .hosts = hosts,
				  .nhosts = 2,
				  .lists = lists,
				  .table = "wr_test",
				  .link = "wr00000000",
				  .egress = 0xa9fe4002,
				  .closed = "eth0"};
}

static void load(void)
{
	OWN(buf_free) struct buf text = BUF_INIT(NET_RULES_MAX);
	struct net_rules in = input();
	struct errinfo e;

	net_rules_egress(&in, &text);
	assert_true(buf_ok(&text));
	assert_null(strstr(buf_str(&text), "@@"));
	assert_int_equal(net_rules_load(&text, 0, &e), ERR_NONE);
}

/* What nft shows of a set; the text is the caller's. */
static char *shown(const char *set)
{
	char command[128];
	char *text = calloc(1, SHOWN_BYTES);
	FILE *f;

	assert_non_null(text);
	snprintf(command, sizeof(command),
		 "/usr/sbin/nft list set inet warren %s", set);
	f = popen(command, "re");
	assert_non_null(f);
	assert_true(fread(text, 1, SHOWN_BYTES - 1, f) > 0);
	assert_int_equal(pclose(f), 0);
	return text;
}

static bool has(const char *set, const char *what)
{
	OWN(own_mem) char *text = shown(set);

	return strstr(text, what) != NULL;
}

static void the_egress_ruleset_loads_again_and_again(void **state)
{
	(void)state;
	load();
	load();
	assert_true(has("pairs", "0x00001000 . 10.218.31.255"));
	assert_true(has("dns", "9.9.9.9"));
	assert_true(has("hosts", "198.51.100.2"));
	assert_true(has("blocked", "169.254.0.0/16"));
}

static void the_hosts_ruleset_loads(void **state)
{
	OWN(buf_free) struct buf text = BUF_INIT(NET_RULES_MAX);
	struct net_rules in = input();
	struct errinfo e;

	(void)state;
	net_rules_host(&in, &text);
	assert_int_equal(net_rules_load(&text, 0, &e), ERR_NONE);
	in.closed = "";
	in.ndns = 0;
	buf_reset(&text);
	net_rules_host(&in, &text);
	assert_null(strstr(buf_str(&text), "dnat"));
	assert_int_equal(net_rules_load(&text, 0, &e), ERR_NONE);
}

static void a_wrong_ruleset_is_refused_whole(void **state)
{
	OWN(buf_free) struct buf text = BUF_INIT(4096);
	struct errinfo e;

	(void)state;
	load();
	buf_adds(&text, "flush set inet warren pairs\nadd nonsense\n");
	assert_int_equal(net_rules_load(&text, 0, &e), ERR_IO);
	assert_true(has("pairs", "10.218.0.1"));
}

static void lists_of_live_sandboxes_are_in_the_ruleset(void **state)
{
	struct net_lists l = {.ndeny = 1,
			      .nallow = 1,
			      .at = {{.addr = 0x09000000, .prefix = 8},
				     {.addr = 0x08080808, .prefix = 32}}};

	(void)state;
	lists[5] = &l;
	load();
	lists[5] = NULL;
	assert_true(has("deny", "10.218.0.11 . 9.0.0.0/8"));
	assert_true(has("allow", "10.218.0.11 . 8.8.8.8"));
	assert_true(has("limited", "0x00000006"));
}

static void elements_come_and_go_in_one_transaction(void **state)
{
	const struct broker_cidr ten = {.addr = 0x0a000000, .prefix = 8};
	const struct broker_cidr all = {0};
	struct net_set_batch b;
	struct errinfo e;

	(void)state;
	load();
	assert_int_equal(net_set_begin(&b, &e), ERR_NONE);
	net_set_range(&b, "deny", 0x0ada0003, &ten);
	net_set_range(&b, "allow", 0x0ada0003, &all);
	net_set_mark(&b, "limited", 2);
	net_set_empty(&b, "hosts");
	net_set_address(&b, "hosts", 0x01020304);
	assert_int_equal(net_set_commit(nf, &b, &e), ERR_NONE);
	assert_true(has("deny", "10.218.0.3 . 10.0.0.0/8"));
	assert_true(has("allow", "10.218.0.3 . 0.0.0.0/0"));
	assert_true(has("limited", "0x00000002"));
	assert_true(has("hosts", "{ 1.2.3.4 }"));

	assert_int_equal(net_set_begin(&b, &e), ERR_NONE);
	net_set_unrange(&b, "deny", 0x0ada0003, &ten);
	net_set_unrange(&b, "allow", 0x0ada0003, &all);
	net_set_unmark(&b, "limited", 2);
	net_set_unmark(&b, "limited", 3); /* never was there */
	net_set_unmark(&b, "conns", 3);
	net_set_unmark(&b, "rates", 3);
	net_set_unmark(&b, "refused", 3);
	assert_int_equal(net_set_commit(nf, &b, &e), ERR_NONE);
	assert_false(has("deny", "elements"));
	assert_false(has("allow", "elements"));
	assert_false(has("limited", "elements"));
}

static void a_transaction_that_fails_changes_nothing(void **state)
{
	struct net_set_batch b;
	struct errinfo e;

	(void)state;
	load();
	assert_int_equal(net_set_begin(&b, &e), ERR_NONE);
	net_set_mark(&b, "limited", 9);
	net_set_mark(&b, "no_such_set", 9);
	assert_int_equal(net_set_commit(nf, &b, &e), ERR_IO);
	assert_false(has("limited", "elements"));
}

static void a_counter_that_is_not_there_is_none(void **state)
{
	uint64_t packets = 7, left = 7;

	(void)state;
	load();
	assert_false(net_set_count(nf, "refused", 0x10001, &packets, &left));
	assert_int_equal(packets, 7);
}

static void a_counter_tells_packets_and_time(void **state)
{
	struct net_set_batch b;
	uint64_t packets = 7, left = 0;
	struct errinfo e;

	(void)state;
	load();
	assert_int_equal(net_set_begin(&b, &e), ERR_NONE);
	net_set_mark(&b, "refused", 0x10001);
	assert_int_equal(net_set_commit(nf, &b, &e), ERR_NONE);
	assert_true(net_set_count(nf, "refused", 0x10001, &packets, &left));
	assert_int_equal(packets, 0);
	assert_true(left > UINT64_C(29) * 24 * 3600 * 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_egress_ruleset_loads_again_and_again),
	    cmocka_unit_test(the_hosts_ruleset_loads),
	    cmocka_unit_test(a_wrong_ruleset_is_refused_whole),
	    cmocka_unit_test(lists_of_live_sandboxes_are_in_the_ruleset),
	    cmocka_unit_test(elements_come_and_go_in_one_transaction),
	    cmocka_unit_test(a_transaction_that_fails_changes_nothing),
	    cmocka_unit_test(a_counter_that_is_not_there_is_none),
	    cmocka_unit_test(a_counter_tells_packets_and_time),
	};
	struct errinfo e;

	if (access("/usr/sbin/nft", X_OK) < 0 || unshare(CLONE_NEWNET) < 0) {
		puts("skipped: needs root and nft (package nftables)");
		return 0;
	}
	if (net_conf_read("/tmp/no-such-net-conf", &conf, &e) != ERR_NONE ||
	    net_link_open(NETLINK_NETFILTER, 0, &nf, &e) != ERR_NONE)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
