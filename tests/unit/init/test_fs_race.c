/*
 * fs: a name that is swapped between check and use, 10,000 tries each. The
 * sandbox is a root of its own here; a link leads out of it, where the same
 * path is another thing inside, and a pipe waits for who opens it.
 */
#include "tests/unit/init/fs_unit.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define TRIES 10000
#define BATCH 500 /* in one child: what was replaced stays open in it */
#define SECRET "of the machine alone"
#define CHILD_S 60
#define ANSWER_MAX 4096

struct race {
	struct fs_unit *u;
	pid_t swapper;
	unsigned *told; /* by status, shared with the children */
};

static void exchange(const char *a, const char *b)
{
	if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) < 0)
		assert_int_equal(errno, ENOENT);
}

/* In a child, until it is killed; a link that was replaced is made anew. */
_Noreturn static void swap(const char *to, bool fifo)
{
	struct stat st;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		for (int i = 0; i < 50; i++) {
			exchange("root/race/file", "root/race/link");
			exchange("root/race/file", "root/race/link");
			if (fifo) {
				exchange("root/race/file", "root/race/fifo");
				exchange("root/race/file", "root/race/fifo");
			}
		}
		if (lstat("root/race/link", &st) == 0 && S_ISLNK(st.st_mode))
			continue;
		unlink("root/new");
		if (symlink(to, "root/new") < 0 ||
		    rename("root/new", "root/race/link") < 0)
			_exit(1);
	}
}

static void race_open(struct race *x, void **state, bool fifo)
{
	char to[128];

	x->u = *state;
	snprintf(to, sizeof(to), "%s/outside", x->u->dir);
	assert_int_equal(mkdir("root", 0755), 0);
	assert_int_equal(mkdir("root/race", 0755), 0);
	fs_unit_put("outside", SECRET);
	fs_unit_put("root/race/file", "inside");
	assert_int_equal(symlink(to, "root/race/link"), 0);
	assert_int_equal(mkfifo("root/race/fifo", 0666), 0);
	x->told = mmap(NULL, FS_STATUS_END * sizeof(*x->told),
		       PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		       0);
	assert_ptr_not_equal(x->told, MAP_FAILED);
	x->swapper = fork();
	assert_true(x->swapper >= 0);
	if (x->swapper == 0)
		swap(to, fifo);
}

static void race_close(struct race *x)
{
	assert_int_equal(kill(x->swapper, SIGKILL), 0);
	assert_int_equal(waitpid(x->swapper, NULL, 0), x->swapper);
	munmap(x->told, FS_STATUS_END * sizeof(*x->told));
	fs_unit_has("outside", SECRET);
}

/* One try; what it told, or -1 for what it must not. */
static int try_once(const char *const *argv, int argc)
{
	char got[ANSWER_MAX];
	struct fs_head head;
	ssize_t n;

	if (ftruncate(STDOUT_FILENO, 0) < 0 ||
	    lseek(STDOUT_FILENO, 0, SEEK_SET) < 0 ||
	    lseek(STDIN_FILENO, 0, SEEK_SET) < 0 || fs_run(argc, argv) != 0)
		return -1;
	n = pread(STDOUT_FILENO, got, sizeof(got), 0);
	if (n < (ssize_t)FS_HEAD_LEN || n == sizeof(got) ||
	    memmem(got, (size_t)n, SECRET, strlen(SECRET)) != NULL ||
	    fs_get_head((const uint8_t *)got, &head, NULL) != ERR_NONE)
		return -1;
	return (int)head.status;
}

_Noreturn static void try_batch(const struct race *x, const char *const *argv,
				int argc)
{
	static const char input[] = "\6\0\0\0inside\0\0\0";
	int in = memfd_create("in", 0);
	int out = memfd_create("out", 0);

	alarm(CHILD_S); /* nothing in there waits for anybody */
	if (write(in, input, sizeof(input)) != (ssize_t)sizeof(input) ||
	    dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    chroot("root") < 0 || chdir("/") < 0)
		_exit(2);
	for (int i = 0; i < BATCH; i++) {
		int status = try_once(argv, argc);

		if (status < 0)
			_exit(3);
		x->told[status]++;
	}
	_exit(0);
}

static void race_run(struct race *x, const char *const *argv, int argc)
{
	unsigned all = 0;

	for (int done = 0; done < TRIES; done += BATCH) {
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			try_batch(x, argv, argc);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	for (int i = 0; i < FS_STATUS_END; i++)
		all += x->told[i];
	assert_int_equal(all, TRIES);
	assert_true(x->told[FS_OK] > 0);
	assert_int_equal(x->told[FS_IO], 0);
	assert_int_equal(x->told[FS_CUT], 0);
}

#define RACE(x, ...)                                                           \
	race_run(x, (const char *const[]){__VA_ARGS__, NULL},                  \
		 sizeof((const char *const[]){__VA_ARGS__}) /                  \
		     sizeof(const char *))

static void ten_thousand_swapped_links_and_pipes_lead_no_read_out(void **state)
{
	struct race x = {NULL};

	if (geteuid() != 0)
		skip();
	race_open(&x, state, true);
	RACE(&x, "read", "race/file", "0", "0", "0");
	race_close(&x);
}

static void ten_thousand_swapped_links_lead_no_write_out(void **state)
{
	struct race x = {NULL};

	if (geteuid() != 0)
		skip();
	race_open(&x, state, false);
	RACE(&x, "write", "race/file", "-", "0");
	race_close(&x);
}

static void ten_thousand_swapped_pipes_let_no_append_wait(void **state)
{
	struct race x = {NULL};

	if (geteuid() != 0)
		skip();
	race_open(&x, state, true);
	RACE(&x, "append", "race/file");
	race_close(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FS_CASE(ten_thousand_swapped_links_and_pipes_lead_no_read_out),
	    FS_CASE(ten_thousand_swapped_links_lead_no_write_out),
	    FS_CASE(ten_thousand_swapped_pipes_let_no_append_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
