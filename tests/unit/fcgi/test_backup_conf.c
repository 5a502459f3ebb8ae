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

#include "fcgi/backup_conf.h"

#define GOOD                                                                   \
	"[backup]\nendpoint = https://s3.example.com/\nbucket = my-bucket\n"   \
	"keyId = ID\nsecretFile = backup.key\n"

struct place {
	char dir[64];
	struct backup_conf c;
	struct errinfo e;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	snprintf(p->dir, sizeof(p->dir), "/tmp/unit-backup-XXXXXX");
	*state = p;
	return mkdtemp(p->dir) == NULL;
}

static void put(struct place *p, const char *name, const char *text, int mode)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", p->dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, (mode_t)mode), 0);
}

static int teardown(void **state)
{
	static const char *const names[] = {"warren.ini", "backup.key"};
	struct place *p = *state;
	char path[128];

	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", p->dir, names[i]);
		unlink(path);
	}
	rmdir(p->dir);
	free(p);
	return 0;
}

static enum err conf(struct place *p, const char *ini)
{
	put(p, "warren.ini", ini, 0644);
	return backup_conf_read(p->dir, &p->c, &p->e);
}

static void without_a_section_backups_are_files(void **state)
{
	struct place *p = *state;

	assert_int_equal(backup_conf_read(p->dir, &p->c, &p->e), ERR_NONE);
	assert_false(p->c.remote || p->c.wrong);
	assert_int_equal(conf(p, "[network]\npool = x\n"), ERR_NONE);
	assert_false(p->c.remote || p->c.wrong);
}

static void a_whole_section_names_the_store(void **state)
{
	struct place *p = *state;

	put(p, "backup.key", "s3cret+/=\nmore\n", 0600);
	assert_int_equal(conf(p, GOOD), ERR_NONE);
	assert_true(p->c.remote);
	assert_false(p->c.wrong || p->c.host_style);
	assert_string_equal(p->c.endpoint, "https://s3.example.com");
	assert_string_equal(p->c.bucket, "my-bucket");
	assert_string_equal(p->c.region, "us-east-1");
	assert_string_equal(p->c.credentials, "ID:s3cret+/=");
	assert_int_equal(conf(p, GOOD "region = eu-west-1\npathStyle = no\n"
				      "prefix = A-b_1/c/\n"),
			 ERR_NONE);
	assert_true(p->c.host_style);
	assert_string_equal(p->c.prefix, "A-b_1/c/");
}

static void what_is_wrong_makes_all_of_it_wrong(void **state)
{
	static const char *const wrong[] = {
	    "[backup]\n",
	    "[backup]\nbucket = b-b\n",
	    GOOD "bucket = B\n",
	    GOOD "bucket = a/b\n",
	    GOOD "bucket = a..b\n",
	    GOOD "region = eu west\n",
	    GOOD "region = ../x\n",
	    GOOD "endpoint = s3.example.com\n",
	    GOOD "endpoint = ftp://x\n",
	    GOOD "endpoint = http://s3.example.com\n",
	    GOOD "endpoint = http://localhost.example.com\n",
	    GOOD "endpoint = http://127.0.0.1.example.com\n",
	    GOOD "endpoint = https://x/path\n",
	    GOOD "endpoint = https://user@x\n",
	    GOOD "endpoint = https://\n",
	    GOOD "keyId = a:b\n",
	    GOOD "pathStyle = maybe\n",
	    GOOD "prefix = /x\n",
	    GOOD "prefix = a//b\n",
	    GOOD "prefix = a?b\n",
	    GOOD "secretFile = none\n",
	    GOOD "secret = x\n",
	};
	struct place *p = *state;

	put(p, "backup.key", "s3cret\n", 0600);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		enum err r = conf(p, wrong[i]);

		/* A line without "name = value" is none at all. */
		if (strcmp(wrong[i], "[backup]\n") == 0) {
			assert_int_equal(r, ERR_NONE);
			continue;
		}
		if (r == ERR_NONE || !p->c.wrong || p->c.remote)
			fail_msg("%s", wrong[i]);
		assert_null(strstr(p->e.text, "s3cret"));
	}
	for (int port = 0; port < 2; port++)
		assert_int_equal(
		    conf(p, port ? GOOD "endpoint = http://127.0.0.1:9000\n"
				 : GOOD "endpoint = http://localhost\n"),
		    ERR_NONE);
}

static void a_secret_that_everybody_reads_is_none(void **state)
{
	struct place *p = *state;

	put(p, "backup.key", "s3cret\n", 0604);
	assert_int_equal(conf(p, GOOD), ERR_ARG);
	assert_true(p->c.wrong);
	put(p, "backup.key", "\n", 0600);
	assert_int_equal(conf(p, GOOD), ERR_ARG);
	put(p, "backup.key", "s3cret", 0640);
	assert_int_equal(conf(p, GOOD), ERR_NONE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(without_a_section_backups_are_files),
	    TEST(a_whole_section_names_the_store),
	    TEST(what_is_wrong_makes_all_of_it_wrong),
	    TEST(a_secret_that_everybody_reads_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
