#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "fcgi/backup_file.h"

#define ID "00000000-0000-4000-8000-000000000001"
#define OK(call) assert_int_equal((call), ERR_NONE)

struct place {
	char dir[64];
	struct ctl_backup row;
	struct errinfo e;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	char path[96];

	snprintf(p->dir, sizeof(p->dir), "/tmp/unit-backup-XXXXXX");
	if (mkdtemp(p->dir) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/backups", p->dir);
	memcpy(p->row.id, ID, sizeof(ID));
	snprintf(p->row.tenant, sizeof(p->row.tenant), "t1");
	*state = p;
	return mkdir(path, 0700);
}

static int gone(const char *path, const struct stat *st, int type,
		struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	struct place *p = *state;

	nftw(p->dir, gone, 16, FTW_DEPTH | FTW_PHYS);
	free(p);
	return 0;
}

static bool there(struct place *p, const char *end)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/backups/t1/" ID "%s", p->dir, end);
	return access(path, F_OK) == 0;
}

static void a_file_has_its_name_when_it_is_whole(void **state)
{
	struct place *p = *state;
	OWN(backup_file_close) struct backup_file f = BACKUP_FILE_INIT;
	OWN(own_fd) int fd = -1;
	char got[8] = "";
	struct stat st;

	OK(backup_file_make(p->dir, "t1", ID, &f, &p->e));
	OK(backup_file_write(&f, "bytes", 5, &p->e));
	assert_int_equal(backup_file_open(p->dir, &p->row, &fd, &p->e),
			 ERR_NOT_FOUND);
	OK(backup_file_sync(&f, &p->e));
	OK(backup_file_keep(&f, &p->e));
	assert_false(there(p, ".part"));
	OK(backup_file_open(p->dir, &p->row, &fd, &p->e));
	assert_int_equal(read(fd, got, sizeof(got)), 5);
	assert_string_equal(got, "bytes");
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	OK(backup_file_remove(p->dir, &p->row, &p->e));
	OK(backup_file_remove(p->dir, &p->row, &p->e));
	assert_false(there(p, ".tar.zst"));
}

/* As it is seen by another process, which is what a lock is about. */
static bool made(struct place *p)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(backup_file_made(p->dir, &p->row) ? 1 : 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status) == 1;
}

static void it_is_known_whether_its_maker_lives(void **state)
{
	struct place *p = *state;
	struct backup_file f = BACKUP_FILE_INIT;

	assert_false(made(p));
	OK(backup_file_make(p->dir, "t1", ID, &f, &p->e));
	assert_true(made(p));
	OK(backup_file_keep(&f, &p->e));
	assert_true(made(p));
	backup_file_close(&f);
	assert_true(there(p, ".tar.zst"));
	assert_false(made(p));
}

static bool drop_parts(void *ctx, const char *id, bool part)
{
	int *n = ctx;

	assert_string_equal(id, ID);
	(*n)++;
	return part;
}

static void only_what_nobody_makes_is_looked_at(void **state)
{
	struct place *p = *state;
	struct backup_file f = BACKUP_FILE_INIT;
	char path[160];
	int n = 0;
	FILE *other;

	OK(backup_file_make(p->dir, "t1", ID, &f, &p->e));
	snprintf(path, sizeof(path), "%s/backups/t1/notes", p->dir);
	other = fopen(path, "w");
	assert_non_null(other);
	fclose(other);
	backup_file_each(p->dir, drop_parts, &n);
	assert_int_equal(n, 0);
	backup_file_close(&f);
	backup_file_each(p->dir, drop_parts, &n);
	assert_int_equal(n, 1);
	assert_false(there(p, ".part"));
	assert_int_equal(access(path, F_OK), 0);
}

static void a_failed_one_leaves_neither_name(void **state)
{
	struct place *p = *state;
	OWN(backup_file_close) struct backup_file f = BACKUP_FILE_INIT;

	OK(backup_file_make(p->dir, "t1", ID, &f, &p->e));
	backup_file_drop(&f);
	assert_false(there(p, ".part"));
	assert_int_equal(backup_file_keep(&f, &p->e), ERR_IO);
}

static void a_machine_without_room_is_known(void **state)
{
	struct place *p = *state;
	OWN(backup_file_close) struct backup_file f = BACKUP_FILE_INIT;

	OK(backup_file_make(p->dir, "t1", ID, &f, &p->e));
	assert_false(backup_file_room(&f, INT64_C(1) << 60));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_file_has_its_name_when_it_is_whole),
	    TEST(it_is_known_whether_its_maker_lives),
	    TEST(only_what_nobody_makes_is_looked_at),
	    TEST(a_failed_one_leaves_neither_name),
	    TEST(a_machine_without_room_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
