#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fcgi/preview_conf.h"

struct place {
	char dir[64];
	char ini[80];
	struct preview_conf c;
	struct errinfo e;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	snprintf(p->dir, sizeof(p->dir), "/tmp/unit-preview-XXXXXX");
	*state = p;
	if (mkdtemp(p->dir) == NULL)
		return -1;
	snprintf(p->ini, sizeof(p->ini), "%s/warren.ini", p->dir);
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	unlink(p->ini);
	rmdir(p->dir);
	free(p);
	return 0;
}

static enum err conf(struct place *p, const char *ini)
{
	FILE *f = fopen(p->ini, "w");

	assert_non_null(f);
	fputs(ini, f);
	fclose(f);
	assert_int_equal(chmod(p->ini, 0644), 0);
	return preview_conf_read(p->dir, &p->c, &p->e);
}

static void without_a_section_two_ports_are_reserved(void **state)
{
	struct place *p = *state;

	assert_int_equal(preview_conf_read(p->dir, &p->c, &p->e), ERR_NONE);
	assert_true(preview_conf_reserved(&p->c, 22));
	assert_true(preview_conf_reserved(&p->c, 3000));
	assert_false(preview_conf_reserved(&p->c, 3001));
}

static void a_list_of_ports_takes_the_place_of_those(void **state)
{
	struct place *p = *state;

	assert_int_equal(conf(p, "[preview]\nreservedPorts = 1,80 , 65535\n"),
			 ERR_NONE);
	assert_int_equal(p->c.nreserved, 3);
	assert_true(preview_conf_reserved(&p->c, 1));
	assert_true(preview_conf_reserved(&p->c, 80));
	assert_true(preview_conf_reserved(&p->c, 65535));
	assert_false(preview_conf_reserved(&p->c, 22));
	assert_int_equal(conf(p, "[preview]\nreservedPorts =\n"), ERR_NONE);
	assert_int_equal(p->c.nreserved, 0);
}

static void what_is_wrong_is_named_and_changes_nothing(void **state)
{
	static const char *const wrong[] = {
	    "reservedPorts = 0",       "reservedPorts = 65536",
	    "reservedPorts = 80 81",   "reservedPorts = 80;81",
	    "reservedPorts = x",       "reservedPorts = -1",
	    "reservedPorts = ,",       "reservedPorts = 80,,81",
	    "reservedPorts = 0x50",    "reservedPorts = 8.0",
	    "reservedPorts = 1000000", "reserved = 80",
	    "bytesPerSecond = 999",    "bytesPerSecond = 10M",
	    "bytesPerSecond = ",       "requestsPerSecond = 1000001",
	    "requestsPerSecond = 0.5", "requestsPerSecond = -1",
	    "pathPort = 65536",        "idleSeconds = 1h",
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char ini[128];

		p->c.nreserved = 7;
		snprintf(ini, sizeof(ini), "[preview]\n%s\n", wrong[i]);
		if (conf(p, ini) != ERR_ARG)
			fail_msg("taken: %s", wrong[i]);
		assert_non_null(strstr(p->e.text, "line 2: [preview] "));
		assert_int_equal(p->c.nreserved, 7);
	}
}

static void limits_are_off_unless_they_are_set(void **state)
{
	struct place *p = *state;

	assert_int_equal(conf(p, "[preview]\n"), ERR_NONE);
	assert_int_equal(p->c.bytes_per_s, 0);
	assert_int_equal(p->c.path_port, 0);
	assert_int_equal(conf(p, "[preview]\npathPort = 8081\n"
				 "idleSeconds = 60\n"
				 "bytesPerSecond = 5000000\n"
				 "requestsPerSecond = 50\n"),
			 ERR_NONE);
	assert_int_equal(p->c.bytes_per_s, 5000000);
	assert_int_equal(p->c.path_port, 8081);
	assert_int_equal(conf(p, "[preview]\nbytesPerSecond = 0\n"
				 "requestsPerSecond = 0\n"),
			 ERR_NONE);
	assert_int_equal(p->c.bytes_per_s, 0);
}

static void closed_means_that_every_port_is_reserved(void **state)
{
	struct preview_conf c = {.closed = true};

	(void)state;
	assert_true(preview_conf_reserved(&c, 1));
	assert_true(preview_conf_reserved(&c, 65535));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(without_a_section_two_ports_are_reserved),
	    TEST(a_list_of_ports_takes_the_place_of_those),
	    TEST(what_is_wrong_is_named_and_changes_nothing),
	    TEST(limits_are_off_unless_they_are_set),
	    cmocka_unit_test(closed_means_that_every_port_is_reserved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
