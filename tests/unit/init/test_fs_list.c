/* fs: listing. */
#include "tests/unit/init/fs_unit.h"

#define ENTRIES_MAX 64

struct listing {
	struct fs_record entry[ENTRIES_MAX];
	size_t n;
	struct fs_record end;
};

static void parse(struct fs_unit *u, struct listing *l)
{
	const uint8_t *p = (const uint8_t *)u->body;
	size_t left = u->body_len;
	struct fs_record rec;
	size_t used;

	memset(l, 0, sizeof(*l));
	assert_int_equal(u->head.payload, FS_UNTIL_END);
	while (left > 0) {
		assert_int_equal(fs_get_record(p, left, &used, &rec, NULL),
				 ERR_NONE);
		assert_true(used > 0);
		assert_int_equal(l->end.kind, 0);
		if (rec.kind == FS_RECORD_END)
			l->end = rec;
		else if (l->n < ENTRIES_MAX)
			l->entry[l->n++] = rec;
		p += used;
		left -= used;
	}
	assert_int_equal(l->end.kind, FS_RECORD_END);
}

static void make_some(void)
{
	mkdir("b", 0755);
	mkdir("b/.hid", 0755);
	fs_unit_put("b/.hid/x", "x");
	fs_unit_put("b/z", "12");
	fs_unit_put("a", "1");
	fs_unit_put(".h", "1");
	assert_int_equal(symlink("b", "c"), 0);
	assert_int_equal(mkfifo("d", 0600), 0);
}

static void names_are_sorted_and_hidden_ones_left_out(void **state)
{
	struct fs_unit *u = *state;
	struct listing l;

	make_some();
	assert_int_equal(fs_unit_run(u, "list", ".", "0", "0", "100"), FS_OK);
	parse(u, &l);
	assert_int_equal(l.n, 4);
	assert_int_equal(l.end.count, 4);
	assert_string_equal(l.entry[0].path, "a");
	assert_int_equal(l.entry[0].meta.type, FS_TYPE_FILE);
	assert_string_equal(l.entry[1].path, "b");
	assert_int_equal(l.entry[1].meta.type, FS_TYPE_DIR);
	assert_string_equal(l.entry[2].path, "c");
	assert_int_equal(l.entry[2].meta.type, FS_TYPE_LINK);
	assert_string_equal(l.entry[3].path, "d");
	assert_int_equal(l.entry[3].meta.type, FS_TYPE_OTHER);
	fs_unit_run(u, "list", ".", "0", "1", "100");
	parse(u, &l);
	assert_int_equal(l.n, 5);
}

static void recursive_goes_below_but_not_through_links(void **state)
{
	struct fs_unit *u = *state;
	struct listing l;

	make_some();
	fs_unit_run(u, "list", ".", "1", "1", "100");
	parse(u, &l);
	assert_int_equal(l.n, 8);
	assert_string_equal(l.entry[0].path, ".h");
	assert_string_equal(l.entry[2].path, "b");
	assert_string_equal(l.entry[3].path, "b/.hid");
	assert_string_equal(l.entry[4].path, "b/.hid/x");
	assert_string_equal(l.entry[5].path, "b/z");
	assert_int_equal(l.entry[5].meta.size, 2);
	fs_unit_run(u, "list", ".", "1", "0", "100");
	parse(u, &l);
	assert_int_equal(l.n, 5);
}

static void a_hidden_directory_asked_for_is_listed(void **state)
{
	struct fs_unit *u = *state;
	struct listing l;

	make_some();
	fs_unit_run(u, "list", "b/.hid", "0", "0", "100");
	parse(u, &l);
	assert_int_equal(l.n, 1);
	assert_string_equal(l.entry[0].path, "x");
}

static void a_link_asked_for_is_followed(void **state)
{
	struct fs_unit *u = *state;
	struct listing l;

	make_some();
	fs_unit_run(u, "list", "c", "0", "0", "100");
	parse(u, &l);
	assert_int_equal(l.n, 1);
	assert_string_equal(l.entry[0].path, "z");
}

/* All pages of so many, as one text of paths. */
static void pages(struct fs_unit *u, const char *max, char *out, size_t size)
{
	char after[4096] = "";
	struct listing l;
	size_t used = 0;

	out[0] = '\0';
	do {
		fs_unit_run(u, "list", ".", "1", "1", max, after);
		parse(u, &l);
		assert_int_equal(l.end.status, FS_OK);
		for (size_t i = 0; i < l.n; i++) {
			used += (size_t)snprintf(out + used, size - used,
						 "%s\n", l.entry[i].path);
			assert_true(used < size);
			snprintf(after, sizeof(after), "%s", l.entry[i].path);
		}
		assert_true(!l.end.truncated || l.n > 0);
	} while (l.end.truncated);
}

static void pages_of_any_size_make_the_whole(void **state)
{
	struct fs_unit *u = *state;
	char whole[4096], paged[4096], max[8];

	make_some();
	assert_int_equal(system("mkdir -p b/sub/deep b-x bb; touch b/sub/f "
				"b/sub/deep/g b-x/y bb/z; mkdir empty"),
			 0);
	pages(u, "60", whole, sizeof(whole));
	assert_non_null(strstr(whole, "b/sub/deep/g\n"));
	for (int n = 1; n < 25; n++) {
		snprintf(max, sizeof(max), "%d", n);
		pages(u, max, paged, sizeof(paged));
		assert_string_equal(paged, whole);
	}
}

static void a_list_goes_on_behind_what_is_gone(void **state)
{
	struct fs_unit *u = *state;
	struct listing l;

	make_some();
	fs_unit_run(u, "list", ".", "1", "0", "9", "b/aa/x");
	parse(u, &l);
	assert_int_equal(l.n, 3);
	assert_string_equal(l.entry[0].path, "b/z");
	fs_unit_run(u, "list", ".", "0", "0", "9", "bb");
	parse(u, &l);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.entry[0].path, "c");
	fs_unit_run(u, "list", ".", "0", "0", "9", "z");
	parse(u, &l);
	assert_int_equal(l.n, 0);
	assert_false(l.end.truncated);
}

/* The first in order, whatever the directory's own order is. */
static void a_large_directory_is_paged_in_order(void **state)
{
	struct fs_unit *u = *state;
	struct listing l;

	assert_int_equal(system("seq -w 0 9999 | xargs touch"), 0);
	fs_unit_run(u, "list", ".", "0", "0", "5", "");
	parse(u, &l);
	assert_int_equal(l.n, 5);
	assert_true(l.end.truncated);
	assert_string_equal(l.entry[4].path, "0004");
	fs_unit_run(u, "list", ".", "0", "0", "5", "9996");
	parse(u, &l);
	assert_int_equal(l.n, 3);
	assert_false(l.end.truncated);
}

static void a_capped_listing_says_so(void **state)
{
	struct fs_unit *u = *state;
	struct listing l;

	make_some();
	fs_unit_run(u, "list", ".", "1", "1", "3");
	parse(u, &l);
	assert_int_equal(l.n, 3);
	assert_true(l.end.truncated);
	fs_unit_run(u, "list", ".", "1", "1", "8");
	parse(u, &l);
	assert_int_equal(l.n, 8);
	assert_false(l.end.truncated);
}

static void a_file_or_nothing_cannot_be_listed(void **state)
{
	struct fs_unit *u = *state;

	make_some();
	assert_int_equal(fs_unit_run(u, "list", "a", "0", "0", "9"),
			 FS_NOT_DIR);
	assert_int_equal(fs_unit_run(u, "list", "d", "0", "0", "9"),
			 FS_NOT_DIR);
	assert_int_equal(fs_unit_run(u, "list", "no", "0", "0", "9"),
			 FS_NOT_FOUND);
}

static void a_closed_directory_is_skipped_and_said(void **state)
{
	struct fs_unit *u = *state;
	struct listing l;

	if (geteuid() != 0) {
		print_message("skipped: needs root to be another user\n");
		skip();
	}
	make_some();
	assert_int_equal(chmod(".", 0755), 0);
	assert_int_equal(chmod("b", 0700), 0);
	u->uid = 65534;
	assert_int_equal(fs_unit_run(u, "list", "b", "0", "0", "9"), FS_DENIED);
	fs_unit_run(u, "list", ".", "1", "0", "100");
	parse(u, &l);
	assert_int_equal(l.n, 4);
	assert_true(l.end.skipped);
	assert_int_equal(l.entry[1].meta.access, 0);
}

static void a_large_directory_is_whole(void **state)
{
	struct fs_unit *u = *state;
	struct listing l;
	char name[250];
	int i;

	mkdir("big", 0755);
	for (i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "big/%0200d", i);
		assert_int_equal(close(creat(name, 0644)), 0);
	}
	fs_unit_run(u, "list", "big", "0", "0", "100000");
	parse(u, &l);
	assert_int_equal(l.end.count, 3000);
	assert_int_equal(l.entry[5].path[199], '5');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FS_CASE(names_are_sorted_and_hidden_ones_left_out),
	    FS_CASE(recursive_goes_below_but_not_through_links),
	    FS_CASE(a_hidden_directory_asked_for_is_listed),
	    FS_CASE(a_link_asked_for_is_followed),
	    FS_CASE(pages_of_any_size_make_the_whole),
	    FS_CASE(a_list_goes_on_behind_what_is_gone),
	    FS_CASE(a_large_directory_is_paged_in_order),
	    FS_CASE(a_capped_listing_says_so),
	    FS_CASE(a_file_or_nothing_cannot_be_listed),
	    FS_CASE(a_closed_directory_is_skipped_and_said),
	    FS_CASE(a_large_directory_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
