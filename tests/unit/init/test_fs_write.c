/* fs: writing whole files, appending, patching. */
#include "tests/unit/init/fs_unit.h"

#include <signal.h>
#include <sys/resource.h>

static void a_new_file_has_mode_0644_and_its_parents(void **state)
{
	struct fs_unit *u = *state;
	struct stat st;

	fs_unit_input(u, "new");
	assert_int_equal(fs_unit_run(u, "write", "a/b/c.txt", "-", "1"), FS_OK);
	assert_int_equal(u->head.meta.size, 3);
	fs_unit_has("a/b/c.txt", "new");
	assert_int_equal(stat("a/b/c.txt", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(stat("a/b", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
}

static void overwriting_shrinks_and_keeps_the_mode(void **state)
{
	struct fs_unit *u = *state;
	struct stat st;

	fs_unit_put("run.sh", "a long old content");
	assert_int_equal(chmod("run.sh", 0751), 0);
	fs_unit_input(u, "new");
	assert_int_equal(fs_unit_run(u, "write", "run.sh", "-", "1"), FS_OK);
	fs_unit_has("run.sh", "new");
	assert_int_equal(stat("run.sh", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0751);
	fs_unit_input(u, "");
	assert_int_equal(fs_unit_run(u, "write", "run.sh", "0600", "0"), FS_OK);
	assert_int_equal(stat("run.sh", &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void the_owner_stays(void **state)
{
	struct fs_unit *u = *state;
	struct stat st;

	if (geteuid() != 0) {
		print_message("skipped: needs root to give files away\n");
		skip();
	}
	fs_unit_put("f", "old");
	assert_int_equal(chown("f", 1234, 4321), 0);
	fs_unit_input(u, "new");
	assert_int_equal(fs_unit_run(u, "write", "f", "-", "0"), FS_OK);
	assert_int_equal(stat("f", &st), 0);
	assert_int_equal(st.st_uid, 1234);
	assert_int_equal(st.st_gid, 4321);
}

static void a_broken_upload_leaves_the_old_file_whole(void **state)
{
	struct fs_unit *u = *state;

	fs_unit_put("f", "old");
	buf_reset(&u->in);
	fs_unit_chunk(u, "half of it", 10);
	assert_int_equal(fs_unit_run(u, "write", "f", "-", "0"), FS_CUT);
	fs_unit_has("f", "old");
	wire_u32(&u->in, 100);
	buf_adds(&u->in, "less than was said");
	assert_int_equal(fs_unit_run(u, "write", "f", "-", "0"), FS_CUT);
	assert_int_equal(fs_unit_run(u, "write", "f", "-", "0"), FS_CUT);
	wire_u32(&u->in, FS_CHUNK_MAX + 1);
	assert_int_equal(fs_unit_run(u, "write", "f", "-", "0"), FS_INVALID);
	fs_unit_chunk(u, "half", 4);
	assert_int_equal(fs_unit_run(u, "append", "f"), FS_CUT);
	fs_unit_has("f", "old");
	assert_int_equal(fs_unit_count(), 1);
}

static void a_full_disk_leaves_the_old_file_whole(void **state)
{
	struct fs_unit *u = *state;
	struct rlimit was;
	struct rlimit small = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
	char data[4096];

	/* A size limit stands in for the disk: write(2) fails half way. */
	fs_unit_put("f", "old");
	memset(data, 'x', sizeof(data));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	small.rlim_max = was.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	fs_unit_chunk(u, data, sizeof(data));
	fs_unit_chunk(u, "", 0);
	assert_int_equal(fs_unit_run(u, "write", "f", "-", "0"), FS_TOO_LARGE);
	fs_unit_chunk(u, data, sizeof(data));
	fs_unit_chunk(u, "", 0);
	assert_int_equal(fs_unit_run(u, "append", "f"), FS_TOO_LARGE);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	fs_unit_has("f", "old");
	assert_int_equal(fs_unit_count(), 1);
}

static void a_link_is_written_through(void **state)
{
	struct fs_unit *u = *state;
	struct stat st;

	mkdir("real", 0755);
	fs_unit_put("real/f", "old");
	assert_int_equal(symlink("real/f", "link"), 0);
	assert_int_equal(symlink("real/new", "dangling"), 0);
	assert_int_equal(symlink("link", "chain"), 0);
	fs_unit_input(u, "one");
	assert_int_equal(fs_unit_run(u, "write", "chain", "-", "0"), FS_OK);
	fs_unit_has("real/f", "one");
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	fs_unit_input(u, "two");
	assert_int_equal(fs_unit_run(u, "write", "dangling", "-", "0"), FS_OK);
	fs_unit_has("real/new", "two");
	assert_int_equal(lstat("dangling", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void append_adds_and_makes(void **state)
{
	struct fs_unit *u = *state;

	fs_unit_input(u, "one");
	assert_int_equal(fs_unit_run(u, "append", "d/log"), FS_OK);
	fs_unit_input(u, "two");
	assert_int_equal(fs_unit_run(u, "append", "d/log"), FS_OK);
	assert_int_equal(u->head.meta.size, 6);
	fs_unit_has("d/log", "onetwo");
}

static void patch_writes_at_its_place(void **state)
{
	struct fs_unit *u = *state;

	fs_unit_put("f", "0123456789");
	fs_unit_input(u, "ab");
	assert_int_equal(fs_unit_run(u, "patch", "f", "3"), FS_OK);
	fs_unit_has("f", "012ab56789");
	assert_int_equal(u->head.meta.size, 10);
	fs_unit_input(u, "tail");
	assert_int_equal(fs_unit_run(u, "patch", "f", "8"), FS_OK);
	fs_unit_has("f", "012ab567tail");
}

static void many_chunks_make_one_file(void **state)
{
	struct fs_unit *u = *state;
	struct stat st;
	char data[1000];
	size_t i;

	memset(data, 'd', sizeof(data));
	for (i = 0; i < 5000; i++)
		fs_unit_chunk(u, data, sizeof(data));
	fs_unit_chunk(u, "", 0);
	assert_int_equal(fs_unit_run(u, "write", "big", "-", "1"), FS_OK);
	assert_int_equal(u->head.meta.size, 5000000);
	assert_int_equal(stat("big", &st), 0);
	assert_int_equal(st.st_size, 5000000);
}

static void a_refused_upload_does_not_wait_for_its_content(void **state)
{
	struct fs_unit *u = *state;
	char data[1000] = "";
	size_t i;

	mkdir("d", 0755);
	for (i = 0; i < 5000; i++)
		fs_unit_chunk(u, data, sizeof(data));
	fs_unit_chunk(u, "", 0);
	assert_int_equal(fs_unit_run(u, "write", "d", "-", "0"), FS_IS_DIR);
}

/* Writers of the same name: a reader sees one of them, whole. */
static void concurrent_replacing_never_mixes(void **state)
{
	struct fs_unit *u = *state;
	pid_t pid[4];
	int round;
	int i;

	for (i = 0; i < 4; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i] > 0)
			continue;
		for (round = 0; round < 30; round++) {
			char text[3001];

			memset(text, 'a' + i, 3000);
			text[3000] = '\0';
			fs_unit_input(u, text);
			if (fs_unit_run(u, "write", "f", "-", "0") != FS_OK)
				_exit(1);
		}
		_exit(0);
	}
	for (round = 0; round < 60; round++) {
		if (fs_unit_run(u, "read", "f", "0", "0", "0") != FS_OK)
			continue;
		assert_int_equal(u->body_len, 3000);
		for (i = 1; i < 3000; i++)
			assert_int_equal(u->body[i], u->body[0]);
	}
	for (i = 0; i < 4; i++) {
		int status;

		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(fs_unit_count(), 1);
}

static void a_closed_directory_still_lets_its_files_be_written(void **state)
{
	struct fs_unit *u = *state;

	if (geteuid() != 0) {
		print_message("skipped: needs root to be another user\n");
		skip();
	}
	fs_unit_put("f", "a longer old content");
	assert_int_equal(chmod("f", 0666), 0);
	assert_int_equal(chmod(".", 0755), 0);
	u->uid = 65534;
	fs_unit_input(u, "new");
	assert_int_equal(fs_unit_run(u, "write", "f", "-", "1"), FS_OK);
	fs_unit_has("f", "new");
	fs_unit_input(u, "new");
	assert_int_equal(fs_unit_run(u, "write", "g", "-", "1"), FS_DENIED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FS_CASE(a_new_file_has_mode_0644_and_its_parents),
	    FS_CASE(overwriting_shrinks_and_keeps_the_mode),
	    FS_CASE(the_owner_stays),
	    FS_CASE(a_broken_upload_leaves_the_old_file_whole),
	    FS_CASE(a_full_disk_leaves_the_old_file_whole),
	    FS_CASE(a_link_is_written_through),
	    FS_CASE(append_adds_and_makes),
	    FS_CASE(patch_writes_at_its_place),
	    FS_CASE(many_chunks_make_one_file),
	    FS_CASE(a_refused_upload_does_not_wait_for_its_content),
	    FS_CASE(concurrent_replacing_never_mixes),
	    FS_CASE(a_closed_directory_still_lets_its_files_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
