/* fs: reading, and what is refused at once. */
#include "tests/unit/init/fs_unit.h"

#include <sys/socket.h>
#include <sys/un.h>

static void a_file_is_read_whole(void **state)
{
	struct fs_unit *u = *state;

	fs_unit_put("a", "hello");
	assert_int_equal(fs_unit_run(u, "read", "a", "0", "0", "0"), FS_OK);
	assert_int_equal(u->head.payload, 5);
	assert_int_equal(u->head.meta.size, 5);
	assert_int_equal(u->head.meta.mode, 0644);
	assert_int_equal(u->body_len, 5);
	assert_memory_equal(u->body, "hello", 5);
	assert_int_equal(u->exit_code, 0);
}

static void a_range_is_read(void **state)
{
	struct fs_unit *u = *state;

	fs_unit_put("a", "0123456789");
	fs_unit_run(u, "read", "a", "3", "4", "0");
	assert_int_equal(u->body_len, 4);
	assert_memory_equal(u->body, "3456", 4);
	fs_unit_run(u, "read", "a", "8", "100", "0");
	assert_int_equal(u->body_len, 2);
	fs_unit_run(u, "read", "a", "50", "0", "0");
	assert_int_equal(u->body_len, 0);
	assert_int_equal(u->head.meta.size, 10);
}

static void a_large_file_streams(void **state)
{
	struct fs_unit *u = *state;
	FILE *f = fopen("big", "w");
	size_t i;

	for (i = 0; i < 3000000; i++)
		fputc((int)(i * 7 % 251), f);
	fclose(f);
	assert_int_equal(fs_unit_run(u, "read", "big", "0", "0", "0"), FS_OK);
	assert_int_equal(u->body_len, 3000000);
	for (i = 0; i < 3000000; i++)
		assert_int_equal((uint8_t)u->body[i], i * 7 % 251);
}

static void a_file_over_the_maximum_tells_its_size(void **state)
{
	struct fs_unit *u = *state;

	fs_unit_put("a", "0123456789");
	assert_int_equal(fs_unit_run(u, "read", "a", "0", "0", "9"),
			 FS_TOO_LARGE);
	assert_int_equal(u->head.meta.size, 10);
	assert_int_equal(u->body_len, 0);
}

static void a_proc_file_of_size_0_has_its_content(void **state)
{
	struct fs_unit *u = *state;

	assert_int_equal(
	    fs_unit_run(u, "read", "/proc/self/status", "0", "0", "0"), FS_OK);
	assert_true(u->body_len > 100);
	assert_int_equal(u->head.payload, u->body_len);
	assert_memory_equal(u->body, "Name:", 5);
}

static void a_directory_is_no_file(void **state)
{
	struct fs_unit *u = *state;

	mkdir("d", 0755);
	assert_int_equal(fs_unit_run(u, "read", "d", "0", "0", "0"), FS_IS_DIR);
	assert_int_equal(fs_unit_run(u, "read", "/", "0", "0", "0"), FS_IS_DIR);
	fs_unit_input(u, "x");
	assert_int_equal(fs_unit_run(u, "write", "d", "-", "0"), FS_IS_DIR);
	fs_unit_input(u, "x");
	assert_int_equal(fs_unit_run(u, "write", "new/", "-", "0"), FS_IS_DIR);
}

static void fifos_sockets_and_devices_are_refused_at_once(void **state)
{
	struct fs_unit *u = *state;
	struct sockaddr_un sun = {.sun_family = AF_UNIX, .sun_path = "sock"};
	OWN(own_fd) int s = socket(AF_UNIX, SOCK_STREAM, 0);
	static const char *const paths[] = {"fifo", "sock", "/dev/zero",
					    "/dev/null", "link"};
	size_t i;

	assert_int_equal(mkfifo("fifo", 0666), 0);
	assert_int_equal(bind(s, (struct sockaddr *)&sun, sizeof(sun)), 0);
	assert_int_equal(symlink("fifo", "link"), 0);
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_int_equal(
		    fs_unit_run(u, "read", paths[i], "0", "0", "0"),
		    FS_NOT_REGULAR);
		fs_unit_input(u, "x");
		assert_int_equal(fs_unit_run(u, "write", paths[i], "-", "0"),
				 FS_NOT_REGULAR);
		fs_unit_input(u, "x");
		assert_int_equal(fs_unit_run(u, "append", paths[i]),
				 FS_NOT_REGULAR);
	}
}

static void own_descriptors_are_no_files(void **state)
{
	struct fs_unit *u = *state;

	assert_int_not_equal(
	    fs_unit_run(u, "read", "/proc/self/fd/0", "0", "0", "0"), FS_OK);
	assert_int_not_equal(
	    fs_unit_run(u, "read", "/dev/stdin", "0", "0", "0"), FS_OK);
}

static void link_loops_end(void **state)
{
	struct fs_unit *u = *state;

	assert_int_equal(symlink("b", "a"), 0);
	assert_int_equal(symlink("a", "b"), 0);
	assert_int_equal(fs_unit_run(u, "read", "a", "0", "0", "0"), FS_LOOP);
	assert_int_equal(fs_unit_run(u, "stat", "a"), FS_LOOP);
	fs_unit_input(u, "x");
	assert_int_equal(fs_unit_run(u, "write", "a", "-", "0"), FS_LOOP);
	assert_int_equal(fs_unit_run(u, "list", "a", "1", "1", "10"), FS_LOOP);
	assert_int_equal(fs_unit_run(u, "delete", "a", "0"), FS_OK);
}

static void missing_is_not_found_and_below_a_file_is_not_a_directory(void **s)
{
	struct fs_unit *u = *s;

	fs_unit_put("f", "x");
	assert_int_equal(fs_unit_run(u, "read", "no", "0", "0", "0"),
			 FS_NOT_FOUND);
	assert_int_equal(fs_unit_run(u, "read", "", "0", "0", "0"),
			 FS_NOT_FOUND);
	assert_int_equal(fs_unit_run(u, "stat", "f/x"), FS_NOT_DIR);
	assert_int_equal(fs_unit_run(u, "stat", "no/x"), FS_NOT_FOUND);
	assert_int_equal(fs_unit_run(u, "read", "f/", "0", "0", "0"),
			 FS_NOT_DIR);
}

static void long_names_work_and_longer_ones_are_refused(void **state)
{
	struct fs_unit *u = *state;
	char name[300];

	memset(name, 'n', 256);
	name[255] = '\0';
	fs_unit_input(u, "long");
	assert_int_equal(fs_unit_run(u, "write", name, "-", "1"), FS_OK);
	fs_unit_has(name, "long");
	fs_unit_input(u, "longer");
	assert_int_equal(fs_unit_run(u, "write", name, "-", "1"), FS_OK);
	fs_unit_has(name, "longer");
	assert_int_equal(fs_unit_count(), 1);
	name[255] = 'n';
	name[256] = '\0';
	fs_unit_input(u, "x");
	assert_int_equal(fs_unit_run(u, "write", name, "-", "1"),
			 FS_NAME_TOO_LONG);
	assert_int_equal(fs_unit_run(u, "stat", name), FS_NAME_TOO_LONG);
}

static void names_are_bytes(void **state)
{
	struct fs_unit *u = *state;
	static const char *const names[] = {"\xff\xfe", "a b\n'\"$(x)\\", "-rf",
					    "\x01", "\xc3\xa9"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		fs_unit_input(u, names[i]);
		assert_int_equal(fs_unit_run(u, "write", names[i], "-", "0"),
				 FS_OK);
		fs_unit_has(names[i], names[i]);
		assert_int_equal(
		    fs_unit_run(u, "read", names[i], "0", "0", "0"), FS_OK);
		assert_int_equal(u->body_len, strlen(names[i]));
		assert_int_equal(fs_unit_run(u, "rename", names[i], "x"),
				 FS_OK);
		assert_int_equal(fs_unit_run(u, "delete", "x", "0"), FS_OK);
	}
}

static void bad_arguments_are_answered(void **state)
{
	struct fs_unit *u = *state;

	assert_int_equal(fs_unit_run(u, "format"), FS_INVALID);
	assert_int_equal(fs_unit_run(u, "stat"), FS_INVALID);
	assert_int_equal(fs_unit_run(u, "stat", "a", "b"), FS_INVALID);
	assert_int_equal(fs_unit_run(u, "read", "a", "-1", "0", "0"),
			 FS_INVALID);
	assert_int_equal(fs_unit_run(u, "read", "a", "0", "x", "0"),
			 FS_INVALID);
	assert_int_equal(
	    fs_unit_run(u, "read", "a", "0", "9223372036854775808", "0"),
	    FS_INVALID);
	assert_int_equal(fs_unit_run(u, "mkdir", "a", "2"), FS_INVALID);
	assert_int_equal(fs_unit_run(u, "write", "a", "99", "0"), FS_INVALID);
}

static void another_users_file_is_denied(void **state)
{
	struct fs_unit *u = *state;

	if (geteuid() != 0) {
		print_message("skipped: needs root to be another user\n");
		skip();
	}
	fs_unit_put("secret", "x");
	assert_int_equal(chmod("secret", 0600), 0);
	assert_int_equal(chmod(".", 0777), 0);
	u->uid = 65534;
	assert_int_equal(fs_unit_run(u, "read", "secret", "0", "0", "0"),
			 FS_DENIED);
	fs_unit_input(u, "y");
	assert_int_equal(fs_unit_run(u, "write", "secret", "-", "0"),
			 FS_DENIED);
	fs_unit_has("secret", "x");
	assert_int_equal(fs_unit_run(u, "stat", "secret"), FS_OK);
	assert_int_equal(u->head.meta.access, 0);
}

/* The reader sees fewer bytes than were announced, never other ones. */
static void a_file_that_shrinks_breaks_the_transfer(void **state)
{
	struct fs_unit *u = *state;
	const char *const argv[] = {"read", "big", "0", "0", "0", NULL};
	char data[65536];
	size_t total = 0;
	int in[2];
	int out[2];
	int status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(close(open("big", O_CREAT | O_WRONLY, 0644)), 0);
	assert_int_equal(truncate("big", 32 << 20), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid = fs_unit_fork(u, in, out, argv);
	close(in[0]);
	close(in[1]);
	close(out[1]);
	n = read(out[0], data, FS_HEAD_LEN);
	assert_int_equal(n, FS_HEAD_LEN);
	assert_int_equal(fs_get_head((uint8_t *)data, &u->head, NULL),
			 ERR_NONE);
	assert_int_equal(u->head.payload, 32 << 20);
	assert_int_equal(truncate("big", 1 << 20), 0);
	while ((n = read(out[0], data, sizeof(data))) > 0)
		total += (size_t)n;
	close(out[0]);
	assert_true(total < u->head.payload);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FS_CASE(a_file_is_read_whole),
	    FS_CASE(a_range_is_read),
	    FS_CASE(a_large_file_streams),
	    FS_CASE(a_file_over_the_maximum_tells_its_size),
	    FS_CASE(a_proc_file_of_size_0_has_its_content),
	    FS_CASE(a_directory_is_no_file),
	    FS_CASE(fifos_sockets_and_devices_are_refused_at_once),
	    FS_CASE(own_descriptors_are_no_files),
	    FS_CASE(link_loops_end),
	    FS_CASE(missing_is_not_found_and_below_a_file_is_not_a_directory),
	    FS_CASE(long_names_work_and_longer_ones_are_refused),
	    FS_CASE(names_are_bytes),
	    FS_CASE(bad_arguments_are_answered),
	    FS_CASE(another_users_file_is_denied),
	    FS_CASE(a_file_that_shrinks_breaks_the_transfer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
