/* fs: conditions, pieces on demand, copies and modes. */
#include "tests/unit/init/fs_unit.h"

#include <endian.h>

static void ask(struct fs_unit *u, uint64_t at, uint64_t n)
{
	uint64_t rq[2] = {htole64(at), htole64(n)};

	buf_add(&u->in, rq, sizeof(rq));
}

static const char *tag_of(const struct fs_unit *u)
{
	static char text[FS_TAG_LEN + 1];
	char tag[FS_TAG_LEN];

	fs_tag(u->head.inode, &u->head.meta, tag);
	snprintf(text, sizeof(text), "=%s", tag);
	return text;
}

static void what_is_asked_for_is_served(void **state)
{
	struct fs_unit *u = *state;

	fs_unit_put("a", "0123456789");
	ask(u, 0, 3);
	ask(u, 8, 2);
	ask(u, 10, 0);
	assert_int_equal(fs_unit_run(u, "serve", "a"), FS_OK);
	assert_int_equal(u->head.payload, FS_UNTIL_END);
	assert_int_equal(u->head.meta.size, 10);
	assert_int_equal(u->body_len, 5);
	assert_memory_equal(u->body, "01289", 5);
	assert_int_equal(u->exit_code, 0);
	assert_int_equal(fs_unit_run(u, "serve", "a"), FS_OK);
	assert_int_equal(u->body_len, 0);
	ask(u, 0, 5);
	assert_int_equal(fs_unit_run(u, "serve", "/proc/self/status"), FS_OK);
	assert_memory_equal(u->body, "Name:", 5);
}

static void what_the_file_does_not_have_is_not_served(void **state)
{
	static const uint64_t bad[][2] = {
	    {11, 0}, {0, 11}, {5, UINT64_MAX}, {UINT64_MAX, 1}};
	struct fs_unit *u = *state;

	fs_unit_put("a", "0123456789");
	for (size_t i = 0; i < 4; i++) {
		ask(u, bad[i][0], bad[i][1]);
		fs_unit_run(u, "serve", "a");
		assert_int_equal(u->body_len, 0);
		assert_int_equal(u->exit_code, 1);
	}
	assert_int_equal(fs_unit_run(u, "serve", "."), FS_IS_DIR);
	assert_int_equal(fs_unit_run(u, "serve", "/dev/zero"), FS_NOT_REGULAR);
}

static void a_write_wants_the_state_it_was_told(void **state)
{
	struct fs_unit *u = *state;
	char tag[FS_TAG_LEN + 1];

	fs_unit_input(u, "one");
	assert_int_equal(fs_unit_run(u, "write", "a", "-", "0", "=*"),
			 FS_MISMATCH);
	fs_unit_input(u, "one");
	assert_int_equal(fs_unit_run(u, "write", "a", "-", "0", "!*"), FS_OK);
	assert_true(u->head.created);
	memcpy(tag, tag_of(u), sizeof(tag));
	fs_unit_input(u, "two");
	assert_int_equal(fs_unit_run(u, "write", "a", "-", "0", "!*"),
			 FS_MISMATCH);
	fs_unit_input(u, "three");
	assert_int_equal(fs_unit_run(u, "write", "a", "-", "0", tag), FS_OK);
	assert_false(u->head.created);
	assert_string_not_equal(tag, tag_of(u));
	fs_unit_input(u, "four");
	assert_int_equal(fs_unit_run(u, "append", "a", tag), FS_MISMATCH);
	fs_unit_input(u, "four");
	assert_int_equal(fs_unit_run(u, "patch", "a", "0", tag), FS_MISMATCH);
	assert_int_equal(fs_unit_run(u, "delete", "a", "0", tag), FS_MISMATCH);
	fs_unit_has("a", "three");
	assert_int_equal(fs_unit_count(), 1);
	assert_int_equal(fs_unit_run(u, "delete", "a", "0", "=*"), FS_OK);
	assert_int_equal(fs_unit_run(u, "delete", "a", "0", "=*"), FS_MISMATCH);
}

static void the_tag_of_a_write_is_that_of_the_file(void **state)
{
	struct fs_unit *u = *state;
	char tag[FS_TAG_LEN + 1];

	fs_unit_input(u, "one");
	fs_unit_run(u, "write", "a", "-", "1");
	memcpy(tag, tag_of(u), sizeof(tag));
	fs_unit_run(u, "serve", "a");
	assert_string_equal(tag, tag_of(u));
	fs_unit_run(u, "stat", "a");
	assert_string_equal(tag, tag_of(u));
}

static void a_copy_is_whole_and_its_source_stays(void **state)
{
	struct fs_unit *u = *state;

	assert_int_equal(system("mkdir -p d/e; echo x >d/e/f; chmod 750 d/e/f; "
				"ln -s f d/e/l; ln -s /gone d/out"),
			 0);
	assert_int_equal(fs_unit_run(u, "copy", "d", "c", "0", "0"), FS_IS_DIR);
	assert_int_equal(fs_unit_run(u, "copy", "d", "c", "1", "0"), FS_OK);
	assert_int_equal(system("diff -r --no-dereference d c && "
				"test `stat -c %a c/e/f` = 750 && "
				"test `readlink c/e/l` = f"),
			 0);
	assert_int_equal(fs_unit_run(u, "copy", "d", "c", "1", "1"), FS_EXISTS);
	assert_int_equal(fs_unit_run(u, "copy", "d", "d/e/in", "1", "0"),
			 FS_INVALID);
	assert_int_equal(fs_unit_run(u, "copy", "d", "d", "1", "0"), FS_EXISTS);
	assert_int_equal(fs_unit_run(u, "copy", "d/e/f", "g", "0", "0"), FS_OK);
	assert_int_equal(fs_unit_run(u, "copy", "d/e/f", "g", "0", "0"),
			 FS_EXISTS);
	assert_int_equal(fs_unit_run(u, "copy", "d/e/f", "g", "0", "1"), FS_OK);
	assert_int_equal(fs_unit_run(u, "copy", "none", "h", "0", "0"),
			 FS_NOT_FOUND);
	assert_int_equal(mkfifo("p", 0644), 0);
	assert_int_equal(fs_unit_run(u, "copy", "p", "h", "0", "0"),
			 FS_NOT_REGULAR);
	assert_int_equal(fs_unit_count(), 4); /* d c g p */
}

static void modes_change_but_never_through_a_link_below(void **state)
{
	struct fs_unit *u = *state;

	assert_int_equal(system("mkdir -p d/e; touch d/e/f out; chmod 644 out; "
				"ln -s ../out d/l; ln -s out l"),
			 0);
	assert_int_equal(fs_unit_run(u, "chmod", "d", "700", "1"), FS_OK);
	assert_int_equal(system("test `stat -c %a d/e/f` = 700 && "
				"test `stat -c %a d` = 700 && "
				"test `stat -c %a out` = 644"),
			 0);
	assert_int_equal(fs_unit_run(u, "chmod", "l", "600", "0"), FS_OK);
	assert_int_equal(system("test `stat -c %a out` = 600"), 0);
	assert_int_equal(fs_unit_run(u, "chmod", "out", "8", "0"), FS_INVALID);
	assert_int_equal(fs_unit_run(u, "chmod", "no", "600", "0"),
			 FS_NOT_FOUND);
}

static void a_link_tells_itself_when_asked(void **state)
{
	struct fs_unit *u = *state;

	fs_unit_put("a", "12345");
	assert_int_equal(symlink("a", "l"), 0);
	assert_int_equal(fs_unit_run(u, "stat", "l"), FS_OK);
	assert_int_equal(u->head.meta.size, 5);
	assert_int_equal(fs_unit_run(u, "stat", "l", "1"), FS_OK);
	assert_int_equal(u->head.meta.type, FS_TYPE_LINK);
	assert_int_equal(u->body_len, 1);
	assert_memory_equal(u->body, "a", 1);
	assert_int_equal(u->head.uid, geteuid());
	assert_int_equal(u->head.links, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FS_CASE(what_is_asked_for_is_served),
	    FS_CASE(what_the_file_does_not_have_is_not_served),
	    FS_CASE(a_write_wants_the_state_it_was_told),
	    FS_CASE(the_tag_of_a_write_is_that_of_the_file),
	    FS_CASE(a_copy_is_whole_and_its_source_stays),
	    FS_CASE(modes_change_but_never_through_a_link_below),
	    FS_CASE(a_link_tells_itself_when_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
