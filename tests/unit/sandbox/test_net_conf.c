#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/own.h"
#include "sandbox/net_conf.h"

static char dir[] = "/tmp/net-conf-XXXXXX";
static char path[64];

static void write_conf(const char *text)
{
	OWN(own_fd)
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static enum err read_conf(const char *text, struct net_conf *c,
			  struct errinfo *e)
{
	write_conf(text);
	return net_conf_read(dir, c, e);
}

static void ranges_of_addresses_are_read(void **state)
{
	struct broker_cidr c;

	(void)state;
	assert_true(net_cidr_parse("10.0.0.0/8", &c));
	assert_int_equal(c.addr, 0x0a000000);
	assert_int_equal(c.prefix, 8);
	assert_true(net_cidr_parse("203.0.113.7", &c));
	assert_int_equal(c.addr, 0xcb007107);
	assert_int_equal(c.prefix, 32);
	assert_true(net_cidr_parse("0.0.0.0/0", &c));
	assert_true(net_cidr_parse("255.255.255.255/32", &c));
}

static void what_is_no_range_is_refused(void **state)
{
	static const char *const bad[] = {"",
					  "10.0.0.0/",
					  "10.0.0.0/33",
					  "10.0.0.1/8",
					  "10.0.0/8",
					  "10.0.0.0/-1",
					  "10.0.0.0/8x",
					  "::1",
					  "a.b.c.d",
					  "10.0.0.0/ 8",
					  "256.0.0.1",
					  "0x0a000000",
					  "10.0.0.0.0.0.0.0.0.0.0"};
	struct broker_cidr c = {.addr = 7};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(net_cidr_parse(bad[i], &c));
	assert_int_equal(c.addr, 7);
}

static void a_range_has_what_lies_in_it(void **state)
{
	struct broker_cidr ten, half, all, other;

	(void)state;
	assert_true(net_cidr_parse("10.0.0.0/8", &ten));
	assert_true(net_cidr_parse("10.128.0.0/9", &half));
	assert_true(net_cidr_parse("0.0.0.0/0", &all));
	assert_true(net_cidr_parse("11.0.0.0/8", &other));
	assert_true(net_cidr_has(&ten, &half));
	assert_true(net_cidr_has(&ten, &ten));
	assert_true(net_cidr_has(&all, &other));
	assert_false(net_cidr_has(&half, &ten));
	assert_false(net_cidr_has(&ten, &other));
}

static void without_a_file_the_defaults_hold(void **state)
{
	struct net_conf c;
	struct errinfo e;

	(void)state;
	assert_int_equal(net_conf_read("/tmp/no-such-net-conf", &c, &e),
			 ERR_NONE);
	assert_int_equal(c.pool.prefix, 19);
	assert_int_equal(c.connections, 1024);
	assert_int_equal(c.link.prefix, 0);
	assert_non_null(strstr(c.dns_refuse, "/internal"));
}

static void a_file_says_what_is_different(void **state)
{
	struct net_conf c;
	struct errinfo e;

	(void)state;
	assert_int_equal(read_conf("[history]\nrate = nonsense\n"
				   "[network]\n"
				   "; a remark\n"
				   "rate = 7\n"
				   "pool = 172.20.0.0/16\n"
				   "link = 192.168.99.4/30\n"
				   "dns = 9.9.9.9, 149.112.112.112\n"
				   "block = 203.0.113.0/24, 198.51.100.7\n"
				   "dns_refuse = corp, eng.example\n",
				   &c, &e),
			 ERR_NONE);
	assert_int_equal(c.rate, 7);
	assert_int_equal(c.pool.addr, 0xac140000);
	assert_int_equal(c.link.addr, 0xc0a86304);
	assert_int_equal(c.dns.n, 2);
	assert_int_equal(c.dns.at[1].addr, 0x95707070);
	assert_int_equal(c.block.n, 2);
	assert_string_equal(c.dns_refuse, "/corp/eng.example");
}

static void a_wrong_line_is_named_and_changes_nothing(void **state)
{
	struct net_conf c = {.rate = 3};
	struct errinfo e;

	(void)state;
	assert_int_equal(read_conf("[network]\nrate = 5\nrate = 0\n", &c, &e),
			 ERR_ARG);
	assert_non_null(strstr(e.text, "line 3"));
	assert_int_equal(c.rate, 3);
	assert_int_equal(read_conf("[network]\ndns_refuse = a;b/c\n", &c, &e),
			 ERR_ARG);
	assert_int_equal(read_conf("[network]\nuplink = ..\n", &c, &e),
			 ERR_ARG);
}

static void what_is_wrong_with_a_setting_is_said(void **state)
{
	static const struct {
		const char *line, *says;
	} bad[] = {
	    {"pol = 10.0.0.0/8", "line 2: [network] pol is none of pool, link"},
	    {"pool = 10.0.0.0/24", "[network] pool = \"10.0.0.0/24\" is no "
				   "range of addresses of /19"},
	    {"link = 10.0.0.0/8", "is no range of addresses of /30"},
	    {"uplink = a/b", "[network] uplink = \"a/b\" is no name of an"},
	    {"dns = ::1", "[network] dns = \"::1\" is no list of at most 3"},
	    {"dns = 1.1.1.1,2.2.2.2,3.3.3.3,4.4.4.4",
	     "is no list of at most 3"},
	    {"dns_refuse = A", "is no list of zones in lower case"},
	    {"block = 10.0.0.1/8", "is no list of at most 64 addresses"},
	    {"open = x", "is no list of at most 64 addresses"},
	    {"connections = 0", "is no number from 1 to 65536"},
	    {"total = -1", "is no number from 1 to 16777216"},
	    {"rate = 1k", "[network] rate = \"1k\" is no number from 1 to"},
	};
	struct net_conf c = {.rate = 3};
	struct errinfo e;
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "[network]\n%s\n", bad[i].line);
		assert_int_equal(read_conf(text, &c, &e), ERR_ARG);
		if (strstr(e.text, bad[i].says) == NULL)
			fail_msg("%s: %s", bad[i].says, e.text);
	}
	assert_int_equal(c.rate, 3);
}

static void a_file_that_others_may_write_is_refused(void **state)
{
	struct net_conf c;
	struct errinfo e;

	(void)state;
	write_conf("");
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(net_conf_read(dir, &c, &e), ERR_DENIED);
	assert_int_equal(chmod(path, 0600), 0);
}

static void configured_resolvers_are_asked(void **state)
{
	uint32_t dns[NET_DNS_MAX];
	struct net_conf c;
	struct errinfo e;

	(void)state;
	assert_int_equal(read_conf("[network]\ndns = 192.0.2.53\n", &c, &e),
			 ERR_NONE);
	assert_int_equal(net_conf_resolvers(&c, dns), 1);
	assert_int_equal(dns[0], 0xc0000235);
}

static void each_slot_has_an_address_and_a_gateway_below(void **state)
{
	struct net_conf c;
	char text[16];

	(void)state;
	assert_int_equal(net_conf_read("/tmp/no-such-net-conf", &c, NULL),
			 ERR_NONE);
	assert_string_equal(net_addr_text(net_slot_addr(&c, 0), text),
			    "10.218.0.1");
	assert_string_equal(net_addr_text(net_slot_addr(&c, 4095), text),
			    "10.218.31.255");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ranges_of_addresses_are_read),
	    cmocka_unit_test(what_is_no_range_is_refused),
	    cmocka_unit_test(a_range_has_what_lies_in_it),
	    cmocka_unit_test(without_a_file_the_defaults_hold),
	    cmocka_unit_test(a_file_says_what_is_different),
	    cmocka_unit_test(a_wrong_line_is_named_and_changes_nothing),
	    cmocka_unit_test(what_is_wrong_with_a_setting_is_said),
	    cmocka_unit_test(a_file_that_others_may_write_is_refused),
	    cmocka_unit_test(configured_resolvers_are_asked),
	    cmocka_unit_test(each_slot_has_an_address_and_a_gateway_below),
	};
	int r;

	if (geteuid() != 0) {
		puts("skipped: a configuration file must be root's own");
		return 0;
	}
	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/warren.ini", dir);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(dir);
	return r;
}
