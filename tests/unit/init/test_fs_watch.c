/* fs: watching a tree, and what is told of it only once. */
#include "tests/unit/init/fs_unit.h"

#include "base/watch_msg.h"
#include "sandbox/fs_watch.h"

#define READ_BYTES 65536U

struct watcher {
	pid_t pid;
	int in;
	int out;
	struct buf b;
	size_t at;
};

static void take(struct watcher *w)
{
	struct pollfd p = {.fd = w->out, .events = POLLIN};
	char *space;
	ssize_t n;

	buf_drop(&w->b, w->at);
	w->at = 0;
	space = buf_space(&w->b, READ_BYTES);
	assert_non_null(space);
	assert_int_equal(poll(&p, 1, UNIT_WAIT_MS), 1);
	n = read(w->out, space, READ_BYTES);
	assert_true(n > 0);
	buf_grow(&w->b, (size_t)n);
}

static enum fs_status begin(struct fs_unit *u, struct watcher *w,
			    const char *const *argv)
{
	int in[2];
	int out[2];

	memset(w, 0, sizeof(*w));
	w->b.max_bytes = UNIT_OUT_MAX;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	w->pid = fs_unit_fork(u, in, out, argv);
	close(in[0]);
	close(out[1]);
	w->in = in[1];
	w->out = out[0];
	while (w->b.len < FS_HEAD_LEN)
		take(w);
	w->at = FS_HEAD_LEN;
	assert_int_equal(
	    fs_get_head((const uint8_t *)w->b.data, &u->head, NULL), ERR_NONE);
	return u->head.status;
}

#define BEGIN(u, w, ...)                                                       \
	assert_int_equal(                                                      \
	    begin(u, w, (const char *const[]){__VA_ARGS__, NULL}), FS_OK)

/* The next record; its path is valid until the next call. */
static struct watch_record next(struct watcher *w)
{
	struct watch_record rec;
	struct errinfo e;
	size_t used = 0;

	for (;;) {
		assert_int_equal(watch_get((const uint8_t *)w->b.data + w->at,
					   w->b.len - w->at, &used, &rec, &e),
				 ERR_NONE);
		if (used > 0)
			break;
		take(w);
	}
	w->at += used;
	return rec;
}

static struct watch_record is(struct watcher *w, enum watch_type type,
			      const char *path)
{
	struct watch_record rec = next(w);

	assert_int_equal(rec.kind, WATCH_EVENT);
	assert_string_equal(rec.path, path);
	assert_string_equal(watch_type_name(rec.type), watch_type_name(type));
	return rec;
}

/* Its end when nobody reads any more, or after its own end. */
static void end(struct watcher *w)
{
	int status;

	close(w->out);
	close(w->in);
	assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
	assert_true(WIFEXITED(status));
	buf_free(&w->b);
}

static void changes_are_told_by_kind_and_path(void **state)
{
	struct fs_unit *u = *state;
	struct watcher w;
	struct watch_record from;
	struct watch_record to;

	BEGIN(u, &w, "watch", u->dir, "1", "63");
	fs_unit_put("f", "x");
	assert_false(is(&w, WATCH_CREATE, "f").is_dir);
	fs_unit_put("f", "y");
	do /* what followed the create */
		from = next(&w);
	while (from.type != WATCH_MODIFY);
	assert_int_equal(chmod("f", 0600), 0);
	do
		from = next(&w);
	while (from.type == WATCH_MODIFY);
	assert_int_equal(from.type, WATCH_ATTRIB);
	assert_int_equal(rename("f", "g"), 0);
	from = is(&w, WATCH_MOVE_FROM, "f");
	to = is(&w, WATCH_MOVE_TO, "g");
	assert_true(to.cookie != 0 && to.cookie == from.cookie);
	assert_int_equal(unlink("g"), 0);
	is(&w, WATCH_DELETE, "g");
	end(&w);
}

static void what_comes_in_a_new_directory_is_told(void **state)
{
	struct fs_unit *u = *state;
	struct watcher w;
	bool seen = false;

	BEGIN(u, &w, "watch", u->dir, "1", "63");
	assert_int_equal(system("mkdir -p a/b/c; echo x >a/b/c/f"), 0);
	while (!seen) {
		struct watch_record rec = next(&w);

		assert_int_equal(rec.type, WATCH_CREATE);
		seen = strcmp(rec.path, "a/b/c/f") == 0;
	}
	assert_int_equal(rename("a/b", "d"), 0);
	for (;;) {
		struct watch_record rec = next(&w);

		if (rec.type == WATCH_MOVE_TO) {
			assert_string_equal(rec.path, "d");
			assert_true(rec.is_dir && rec.cookie != 0);
			break;
		}
	}
	fs_unit_put("d/c/new", "x");
	is(&w, WATCH_CREATE, "d/c/new");
	end(&w);
}

/* What came from elsewhere is new, with all that is in it. */
static void a_tree_that_moves_in_is_told_whole(void **state)
{
	struct fs_unit *u = *state;
	char top[128];
	struct watcher w;

	assert_int_equal(system("mkdir -p top out/sub; echo x >out/sub/f"), 0);
	snprintf(top, sizeof(top), "%s/top", u->dir);
	BEGIN(u, &w, "watch", top, "1", "63");
	assert_int_equal(rename("out", "top/in"), 0);
	assert_int_equal(is(&w, WATCH_MOVE_TO, "in").cookie, 0);
	assert_true(is(&w, WATCH_CREATE, "in/sub").is_dir);
	assert_false(is(&w, WATCH_CREATE, "in/sub/f").is_dir);
	assert_int_equal(rename("top/in", "out"), 0);
	is(&w, WATCH_MOVE_FROM, "in");
	fs_unit_put("out/sub/g", "x");
	fs_unit_put("top/last", "x");
	is(&w, WATCH_CREATE, "last");
	end(&w);
}

static void globs_and_types_leave_out(void **state)
{
	struct fs_unit *u = *state;
	struct watcher w;

	assert_int_equal(mkdir("node_modules", 0755), 0);
	BEGIN(u, &w, "watch", u->dir, "1", "1", "-node_modules", "-*.log");
	fs_unit_put("node_modules/f", "x");
	fs_unit_put("x.log", "x");
	fs_unit_put("a", "x");
	is(&w, WATCH_CREATE, "a");
	assert_int_equal(unlink("a"), 0);
	fs_unit_put("b", "x");
	is(&w, WATCH_CREATE, "b");
	end(&w);
	BEGIN(u, &w, "watch", u->dir, "1", "63", "+*.ts");
	assert_int_equal(mkdir("src", 0755), 0);
	fs_unit_put("src/a.js", "x");
	fs_unit_put("src/a.ts", "x");
	is(&w, WATCH_CREATE, "src/a.ts");
	assert_int_equal(rename("src", "lib"), 0);
	for (;;) { /* a directory that moves is told: it takes a.ts along */
		struct watch_record rec = next(&w);

		if (rec.type == WATCH_MOVE_TO) {
			assert_string_equal(rec.path, "lib");
			break;
		}
	}
	end(&w);
}

static void not_recursive_is_one_directory(void **state)
{
	struct fs_unit *u = *state;
	struct watcher w;

	assert_int_equal(mkdir("d", 0755), 0);
	BEGIN(u, &w, "watch", u->dir, "0", "63");
	fs_unit_put("d/f", "x");
	fs_unit_put("f", "x");
	is(&w, WATCH_CREATE, "f");
	end(&w);
}

/* An editor replaces it: it is watched by its name. */
static void a_file_is_watched_by_name(void **state)
{
	struct fs_unit *u = *state;
	struct watcher w;
	char path[128];

	fs_unit_put("f", "1");
	snprintf(path, sizeof(path), "%s/f", u->dir);
	BEGIN(u, &w, "watch", path, "1", "63");
	fs_unit_put("g", "2");
	assert_int_equal(rename("g", "f"), 0);
	is(&w, WATCH_MOVE_TO, "");
	fs_unit_put("f", "3");
	is(&w, WATCH_MODIFY, "");
	end(&w);
}

static void it_ends_with_what_it_watches(void **state)
{
	struct fs_unit *u = *state;
	struct watcher w;
	char path[128];

	assert_int_equal(mkdir("d", 0755), 0);
	snprintf(path, sizeof(path), "%s/d", u->dir);
	BEGIN(u, &w, "watch", path, "1", "63");
	assert_int_equal(rmdir("d"), 0);
	assert_true(is(&w, WATCH_DELETE, "").is_dir);
	assert_int_equal(next(&w).why, WATCH_WHY_GONE);
	end(&w);
	assert_int_equal(fs_unit_run(u, "watch", path, "1", "63"),
			 FS_NOT_FOUND);
}

static long queue_max(void)
{
	FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
	char text[32] = "";

	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	return strtol(text, NULL, 10);
}

/* Nobody reads: the kernel drops events, the reader is told that he must
 * look; what is made after that is told again. */
static void who_does_not_read_is_told_to_look(void **state)
{
	struct fs_unit *u = *state;
	long n = queue_max() + 8192;
	struct watcher w;
	struct watch_record rec;
	char name[32];
	long i;

	BEGIN(u, &w, "watch", u->dir, "1", "63");
	assert_int_equal(mkdir("lost", 0755), 0);
	for (i = 0; i < n / 2; i++) {
		snprintf(name, sizeof(name), "f%ld", i);
		fs_unit_put(name, "");
		assert_int_equal(unlink(name), 0);
	}
	assert_int_equal(mkdir("late", 0755), 0);
	do
		rec = next(&w);
	while (rec.kind != WATCH_RESYNC);
	fs_unit_put("late/f", "x");
	is(&w, WATCH_CREATE, "late/f");
	end(&w);
}

static void changes_are_counted_when_asked(void **state)
{
	struct fs_unit *u = *state;
	struct watcher w;
	uint64_t asked = 5;
	uint64_t first = 0;
	uint64_t second = 0;

	BEGIN(u, &w, "check", u->dir, "1", "63");
	assert_int_equal(write(w.in, &asked, 8), 8);
	while (!watch_get_answer(w.b.data, w.b.len, asked, &first))
		take(&w);
	assert_int_equal(first, 0);
	assert_int_equal(system("mkdir d; echo x >d/f"), 0);
	asked = 6;
	assert_int_equal(write(w.in, &asked, 8), 8);
	while (!watch_get_answer(w.b.data, w.b.len, asked, &second))
		take(&w);
	assert_true(second > 0);
	end(&w);
}

/* ---- the queue ---- */

static void add(struct fs_watch_queue *q, enum watch_type type, bool dir,
		const char *path)
{
	struct watch_record rec = {.kind = WATCH_EVENT,
				   .type = type,
				   .is_dir = dir,
				   .path = path,
				   .path_len = strlen(path)};

	assert_int_equal(fs_watch_queue_add(q, &rec), 0);
}

static void what_says_the_same_is_told_once(void **state)
{
	OWN(fs_watch_queue_free)
	struct fs_watch_queue q = FS_WATCH_QUEUE_INIT;
	int i;

	(void)state;
	add(&q, WATCH_CREATE, false, "f");
	for (i = 0; i < 100; i++) {
		add(&q, WATCH_MODIFY, false, "f");
		add(&q, WATCH_ATTRIB, false, "f");
		add(&q, WATCH_CREATE, false, "f");
	}
	assert_int_equal(q.n, 1);
	for (i = 0; i < 100; i++) {
		add(&q, WATCH_MODIFY, false, "g");
		add(&q, WATCH_ATTRIB, false, "g");
	}
	assert_int_equal(q.n, 3);
	add(&q, WATCH_DELETE, false, "f");
	add(&q, WATCH_CREATE, false, "f");
	add(&q, WATCH_MODIFY, false, "f");
	assert_int_equal(q.n, 5);
}

/* Whoever pairs a move takes the content from the old name. */
static void a_change_after_a_move_is_told(void **state)
{
	OWN(fs_watch_queue_free)
	struct fs_watch_queue q = FS_WATCH_QUEUE_INIT;

	(void)state;
	add(&q, WATCH_MOVE_TO, false, "f");
	add(&q, WATCH_MODIFY, false, "f");
	assert_int_equal(q.n, 2);
	add(&q, WATCH_MODIFY, false, "d/f");
	add(&q, WATCH_MOVE_FROM, true, "d");
	add(&q, WATCH_MOVE_TO, true, "d");
	add(&q, WATCH_MODIFY, false, "d/f");
	assert_int_equal(q.n, 6);
}

/* What is written again and again is told now and then, all else at once. */
static void only_what_repeats_waits(void **state)
{
	OWN(fs_watch_queue_free)
	struct fs_watch_queue q = FS_WATCH_QUEUE_INIT;
	int null = open("/dev/null", O_WRONLY);
	int out = dup(1);
	int wait;

	(void)state;
	assert_int_equal(fs_watch_queue_wait_ms(&q), -1);
	add(&q, WATCH_MODIFY, false, "f");
	assert_int_equal(fs_watch_queue_wait_ms(&q), 0);
	dup2(null, 1);
	assert_int_equal(fs_watch_queue_tell(&q), 0);
	dup2(out, 1);
	close(null);
	close(out);
	assert_int_equal(fs_watch_queue_wait_ms(&q), -1);
	add(&q, WATCH_MODIFY, false, "f");
	wait = fs_watch_queue_wait_ms(&q);
	assert_true(wait >= 0 && wait <= FS_WATCH_WINDOW_MS);
	add(&q, WATCH_MODIFY, false, "g");
	assert_int_equal(fs_watch_queue_wait_ms(&q), 0);
	assert_int_equal(q.n, 2);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, fs_unit_open, fs_unit_close)
	const struct CMUnitTest tests[] = {
	    CASE(changes_are_told_by_kind_and_path),
	    CASE(what_comes_in_a_new_directory_is_told),
	    CASE(a_tree_that_moves_in_is_told_whole),
	    CASE(globs_and_types_leave_out),
	    CASE(not_recursive_is_one_directory),
	    CASE(a_file_is_watched_by_name),
	    CASE(it_ends_with_what_it_watches),
	    CASE(who_does_not_read_is_told_to_look),
	    CASE(changes_are_counted_when_asked),
	    cmocka_unit_test(what_says_the_same_is_told_once),
	    cmocka_unit_test(a_change_after_a_move_is_told),
	    cmocka_unit_test(only_what_repeats_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
