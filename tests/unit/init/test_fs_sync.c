/*
 * fs: what is told to be written is on the disk. The calls that say so are
 * noted, in their order, and done: F a file's fsync, D a directory's, R the
 * new name, A the answer, f a failed one.
 */
#include "tests/unit/init/fs_unit.h"

#include <sys/mman.h>
#include <sys/syscall.h>

struct notes {
	char text[64];
	size_t n;
	bool fail; /* fsync of a file */
};

static struct notes *notes;
static pid_t us;

static void note(char c)
{
	if (notes != NULL && getpid() != us && notes->n < 60)
		notes->text[notes->n++] = c;
}

int fsync(int fd)
{
	struct stat st = {0};

	fstat(fd, &st);
	if (S_ISREG(st.st_mode) && notes->fail) {
		note('f');
		errno = EIO;
		return -1;
	}
	note(S_ISDIR(st.st_mode) ? 'D' : 'F');
	return (int)syscall(SYS_fsync, fd);
}

int renameat2(int from, const char *old, int to, const char *new,
	      unsigned int flags)
{
	note('R');
	return (int)syscall(SYS_renameat2, from, old, to, new, flags);
}

ssize_t write(int fd, const void *p, size_t n)
{
	if (fd == STDOUT_FILENO)
		note('A');
	return syscall(SYS_write, fd, p, n);
}

static int notes_open(void **state)
{
	us = getpid();
	notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(notes != MAP_FAILED);
	return fs_unit_open(state);
}

static int notes_close(void **state)
{
	munmap(notes, sizeof(*notes));
	notes = NULL;
	return fs_unit_close(state);
}

#define NOTED(u, want, ...)                                                    \
	do {                                                                   \
		memset(notes->text, 0, sizeof(notes->text));                   \
		notes->n = 0;                                                  \
		fs_unit_input(u, "content");                                   \
		assert_int_equal(fs_unit_run(u, __VA_ARGS__), FS_OK);          \
		assert_string_equal(notes->text, want);                        \
	} while (0)

static void the_content_then_the_name_then_the_answer(void **state)
{
	struct fs_unit *u = *state;

	NOTED(u, "FRDA", "write", "f", "-", "1");
	fs_unit_has("f", "content");
	NOTED(u, "FRDA", "write", "f", "0600", "1", "=*");
	NOTED(u, "RA", "write", "f", "-", "0");
}

static void a_part_is_safe_before_the_answer_too(void **state)
{
	struct fs_unit *u = *state;

	NOTED(u, "FDA", "append", "a", "-", "1");
	NOTED(u, "FA", "append", "a", "-", "1");
	NOTED(u, "A", "append", "a", "-", "0");
	NOTED(u, "A", "append", "a");
	fs_unit_has("a", "contentcontentcontentcontent");
	NOTED(u, "FDA", "patch", "p", "2", "-", "1");
	NOTED(u, "FA", "patch", "p", "4", "-", "1");
	NOTED(u, "A", "patch", "p", "4", "-");
}

static void what_the_disk_refuses_is_not_told_as_written(void **state)
{
	struct fs_unit *u = *state;

	fs_unit_put("f", "old");
	notes->fail = true;
	fs_unit_input(u, "new");
	assert_int_equal(fs_unit_run(u, "write", "f", "-", "1"), FS_IO);
	fs_unit_has("f", "old");
	assert_int_equal(fs_unit_count(), 1);
	assert_string_equal(notes->text, "fA");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, notes_open, notes_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(the_content_then_the_name_then_the_answer),
	    CASE(a_part_is_safe_before_the_answer_too),
	    CASE(what_the_disk_refuses_is_not_told_as_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
