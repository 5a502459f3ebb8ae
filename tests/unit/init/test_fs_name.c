/* fs: stat, delete, rename, move, mkdir. */
#include "tests/unit/init/fs_unit.h"

#include <sched.h>
#include <sys/mount.h>

static bool there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void stat_tells_type_mode_and_time(void **state)
{
	struct fs_unit *u = *state;
	struct timespec t[2] = {{.tv_sec = 1000000000, .tv_nsec = 123456789},
				{.tv_sec = 1000000000, .tv_nsec = 123456789}};

	fs_unit_put("f", "12345");
	assert_int_equal(chmod("f", 0754), 0);
	assert_int_equal(utimensat(AT_FDCWD, "f", t, 0), 0);
	assert_int_equal(symlink("f", "link"), 0);
	assert_int_equal(fs_unit_run(u, "stat", "link"), FS_OK);
	assert_int_equal(u->head.meta.type, FS_TYPE_FILE);
	assert_int_equal(u->head.meta.mode, 0754);
	assert_int_equal(u->head.meta.size, 5);
	assert_int_equal(u->head.meta.mtime_s, 1000000000);
	assert_int_equal(u->head.meta.mtime_ns, 123456789);
	assert_int_equal(u->head.meta.access,
			 FS_READABLE | FS_WRITABLE | FS_EXECUTABLE);
	assert_int_equal(fs_unit_run(u, "stat", "/dev/null"), FS_OK);
	assert_int_equal(u->head.meta.type, FS_TYPE_OTHER);
}

static void delete_takes_files_and_links_but_no_directory(void **state)
{
	struct fs_unit *u = *state;

	fs_unit_put("f", "x");
	mkdir("d", 0755);
	assert_int_equal(symlink("d", "link"), 0);
	assert_int_equal(fs_unit_run(u, "delete", "f", "0"), FS_OK);
	assert_int_equal(fs_unit_run(u, "delete", "f", "0"), FS_NOT_FOUND);
	assert_int_equal(fs_unit_run(u, "delete", "d", "0"), FS_IS_DIR);
	assert_int_equal(fs_unit_run(u, "delete", "d/", "0"), FS_IS_DIR);
	assert_int_equal(fs_unit_run(u, "delete", ".", "0"), FS_IS_DIR);
	assert_int_equal(fs_unit_run(u, "delete", "link", "1"), FS_OK);
	assert_true(there("d"));
	assert_false(there("link"));
}

static void recursive_delete_stays_inside(void **state)
{
	struct fs_unit *u = *state;

	mkdir("out", 0755);
	fs_unit_put("out/keep", "x");
	mkdir("d", 0755);
	mkdir("d/e", 0755);
	fs_unit_put("d/e/f", "x");
	assert_int_equal(symlink("../out", "d/away"), 0);
	assert_int_equal(mkfifo("d/fifo", 0600), 0);
	assert_int_equal(fs_unit_run(u, "delete", "d", "1"), FS_OK);
	assert_false(there("d"));
	assert_true(there("out/keep"));
	assert_int_equal(fs_unit_run(u, "delete", "/", "1"), FS_BUSY);
	assert_int_equal(fs_unit_run(u, "delete", "..", "1"), FS_BUSY);
	assert_int_equal(fs_unit_run(u, "delete", ".", "1"), FS_BUSY);
	assert_true(there("out/keep"));
}

static void a_missing_source_is_not_found(void **state)
{
	struct fs_unit *u = *state;

	assert_int_equal(fs_unit_run(u, "rename", "no", "x"), FS_NOT_FOUND);
	assert_int_equal(u->head.which, 0);
	assert_int_equal(fs_unit_run(u, "move", "no", "x"), FS_NOT_FOUND);
	fs_unit_put("f", "x");
	assert_int_equal(fs_unit_run(u, "rename", "f", "no/x"), FS_NOT_FOUND);
	assert_int_equal(u->head.which, 1);
	assert_true(there("f"));
}

static void rename_replaces_a_file_but_no_directory(void **state)
{
	struct fs_unit *u = *state;

	fs_unit_put("a", "a");
	fs_unit_put("b", "b");
	mkdir("d", 0755);
	assert_int_equal(fs_unit_run(u, "rename", "a", "b"), FS_OK);
	fs_unit_has("b", "a");
	assert_false(there("a"));
	assert_int_equal(fs_unit_run(u, "rename", "b", "d"), FS_IS_DIR);
	assert_int_equal(u->head.which, 1);
	assert_int_equal(fs_unit_run(u, "rename", "b", "c/"), FS_NOT_DIR);
	assert_int_equal(fs_unit_run(u, "rename", "d", "b"), FS_NOT_DIR);
	assert_int_equal(fs_unit_run(u, "rename", "d", "d/x"), FS_INVALID);
	fs_unit_has("b", "a");
}

static void move_goes_into_a_directory(void **state)
{
	struct fs_unit *u = *state;

	fs_unit_put("a", "a");
	mkdir("d", 0755);
	assert_int_equal(fs_unit_run(u, "move", "a", "d"), FS_OK);
	fs_unit_has("d/a", "a");
	assert_int_equal(fs_unit_run(u, "move", "d/a", "b"), FS_OK);
	fs_unit_has("b", "a");
	assert_int_equal(fs_unit_run(u, "move", "b", "d/"), FS_OK);
	fs_unit_has("d/b", "a");
	mkdir("e", 0755);
	mkdir("e/d", 0755);
	fs_unit_put("e/d/x", "x");
	assert_int_equal(fs_unit_run(u, "move", "d", "e"), FS_NOT_EMPTY);
	assert_true(there("d/b"));
}

static void move_crosses_file_systems(void **state)
{
	struct fs_unit *u = *state;
	struct stat st;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		print_message("skipped: needs root to mount\n");
		skip();
	}
	mkdir("other", 0755);
	assert_int_equal(mount("t", "other", "tmpfs", 0, NULL), 0);
	mkdir("d", 0755);
	mkdir("d/e", 0500);
	fs_unit_put("d/e/f", "deep");
	assert_int_equal(chmod("d/e/f", 0711), 0);
	assert_int_equal(chown("d/e/f", 77, 78), 0);
	assert_int_equal(symlink("e/f", "d/link"), 0);
	assert_int_equal(mkfifo("d/fifo", 0640), 0);
	assert_int_equal(fs_unit_run(u, "rename", "d", "other/d"), FS_OK);
	assert_false(there("d"));
	fs_unit_has("other/d/link", "deep");
	assert_int_equal(stat("other/d/e/f", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0711);
	assert_int_equal(st.st_uid, 77);
	assert_int_equal(stat("other/d/e", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0500);
	assert_int_equal(stat("other/d/fifo", &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	mkdir("full", 0755);
	fs_unit_put("full/x", "x");
	mkdir("other/full", 0755);
	fs_unit_put("other/full/y", "y");
	assert_int_equal(fs_unit_run(u, "rename", "full", "other/full"),
			 FS_NOT_EMPTY);
	fs_unit_has("full/x", "x");
	assert_int_equal(umount2("other", MNT_DETACH), 0);
	assert_int_equal(rmdir("other"), 0);
}

static void mkdir_makes_one_or_all(void **state)
{
	struct fs_unit *u = *state;

	assert_int_equal(fs_unit_run(u, "mkdir", "d", "0"), FS_OK);
	assert_int_equal(fs_unit_run(u, "mkdir", "d", "0"), FS_EXISTS);
	assert_int_equal(fs_unit_run(u, "mkdir", "d", "1"), FS_OK);
	assert_int_equal(fs_unit_run(u, "mkdir", "x/y/z", "0"), FS_NOT_FOUND);
	assert_int_equal(fs_unit_run(u, "mkdir", "x/y//z/", "1"), FS_OK);
	assert_true(there("x/y/z"));
	assert_int_equal(fs_unit_run(u, "mkdir", "x/../w/./v", "1"), FS_OK);
	assert_true(there("w/v"));
	fs_unit_put("f", "x");
	assert_int_equal(fs_unit_run(u, "mkdir", "f", "1"), FS_NOT_DIR);
	assert_int_equal(fs_unit_run(u, "mkdir", "f/g", "1"), FS_NOT_DIR);
	assert_int_equal(fs_unit_run(u, "mkdir", "", "1"), FS_NOT_FOUND);
	assert_int_equal(fs_unit_run(u, "mkdir", "/", "1"), FS_OK);
}

static void a_tree_that_is_too_deep_is_refused(void **state)
{
	struct fs_unit *u = *state;
	int i;

	for (i = 0; i < 600; i++) {
		assert_int_equal(mkdir("n", 0755), 0);
		assert_int_equal(chdir("n"), 0);
	}
	assert_int_equal(chdir(u->dir), 0);
	assert_int_equal(fs_unit_run(u, "delete", "n", "1"), FS_TOO_DEEP);
	assert_int_equal(fs_unit_run(u, "list", ".", "1", "1", "10000"), FS_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FS_CASE(stat_tells_type_mode_and_time),
	    FS_CASE(delete_takes_files_and_links_but_no_directory),
	    FS_CASE(recursive_delete_stays_inside),
	    FS_CASE(a_missing_source_is_not_found),
	    FS_CASE(rename_replaces_a_file_but_no_directory),
	    FS_CASE(move_goes_into_a_directory),
	    FS_CASE(move_crosses_file_systems),
	    FS_CASE(mkdir_makes_one_or_all),
	    FS_CASE(a_tree_that_is_too_deep_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
