/* fs_call: an executor that lies, breaks off or does not read. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/fs_call.h"

/* A call whose executor is the test itself; its keeper hangs up at once. */
struct fake {
	struct request rq;
	struct fs_call call;
	int in;  /* what the call puts */
	int out; /* what the call gets */
};

static void fake_open(struct fake *f)
{
	int in[2];
	int out[2];
	int link[2];

	signal(SIGPIPE, SIG_IGN);
	memset(&f->rq, 0, sizeof(f->rq));
	f->rq.client_fd = -1;
	f->call = (struct fs_call)FS_CALL_INIT;
	f->call.op = "file.read";
	f->call.paths[0] = "a";
	assert_int_equal(pipe2(in, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, link), 0);
	close(link[1]);
	f->call.d.rq = f->call.d.link.rq = &f->rq;
	f->call.d.link.fd = link[0];
	wire_rx_init(&f->call.d.link.rx, KEEPER_PAYLOAD_MAX);
	f->call.d.in = in[1];
	f->call.d.out = out[0];
	f->call.d.deadline_ms = clock_mono_ms() + 200;
	f->in = in[0];
	f->out = out[1];
}

static void fake_close(struct fake *f)
{
	own_fd(&f->in);
	own_fd(&f->out);
	fs_call_close(&f->call);
	json_out_free(&f->rq.failure.context);
}

static void fake_head(struct fake *f, const struct fs_head *head)
{
	OWN(buf_free) struct buf b = BUF_INIT(FS_HEAD_LEN);

	fs_put_head(&b, head);
	assert_int_equal(write(f->out, b.data, b.len), FS_HEAD_LEN);
}

static void a_short_body_is_an_error(void **state)
{
	const struct fs_head head = {
	    .meta = {.type = FS_TYPE_FILE, .size = 100}, .payload = 100};
	struct fake f;
	struct errinfo e;
	char data[200];
	size_t got;

	(void)state;
	fake_open(&f);
	fake_head(&f, &head);
	assert_int_equal(write(f.out, "only this", 9), 9);
	own_fd(&f.out);
	assert_int_equal(fs_call_head(&f.call, &e), ERR_NONE);
	assert_int_equal(fs_call_get(&f.call, data, 200, &got, &e), ERR_NONE);
	assert_int_equal(got, 9);
	assert_int_equal(fs_call_get(&f.call, data, 200, &got, &e), ERR_PEER);
	fake_close(&f);
}

static void more_than_was_announced_is_never_read(void **state)
{
	const struct fs_head head = {.meta = {.type = FS_TYPE_FILE, .size = 4},
				     .payload = 4};
	struct fake f;
	struct errinfo e;
	char data[200];
	size_t got;

	(void)state;
	fake_open(&f);
	fake_head(&f, &head);
	assert_int_equal(write(f.out, "four and more", 13), 13);
	assert_int_equal(fs_call_head(&f.call, &e), ERR_NONE);
	assert_int_equal(fs_call_get(&f.call, data, 200, &got, &e), ERR_NONE);
	assert_int_equal(got, 4);
	assert_int_equal(fs_call_get(&f.call, data, 200, &got, &e), ERR_NONE);
	assert_int_equal(got, 0);
	fake_close(&f);
}

static void noise_is_no_head(void **state)
{
	char noise[FS_HEAD_LEN];
	struct fake f;
	struct errinfo e;

	(void)state;
	fake_open(&f);
	memset(noise, 'x', sizeof(noise));
	assert_int_equal(write(f.out, noise, sizeof(noise)), FS_HEAD_LEN);
	assert_int_equal(fs_call_head(&f.call, &e), ERR_PEER);
	fake_close(&f);
}

static void half_a_head_and_the_end_is_a_dead_executor(void **state)
{
	struct fake f;
	struct errinfo e;

	(void)state;
	fake_open(&f);
	assert_int_equal(write(f.out, "WFS1", 4), 4);
	own_fd(&f.out);
	assert_int_not_equal(fs_call_head(&f.call, &e), ERR_NONE);
	fake_close(&f);
}

static void a_silent_executor_runs_into_the_deadline(void **state)
{
	struct fake f;
	struct errinfo e;

	(void)state;
	fake_open(&f);
	assert_int_equal(fs_call_head(&f.call, &e), ERR_TIMEOUT);
	fake_close(&f);
}

static void a_failure_is_told_with_its_path(void **state)
{
	const struct fs_head head = {.status = FS_NOT_FOUND, .which = 1};
	struct fake f;
	struct errinfo e;

	(void)state;
	fake_open(&f);
	fake_head(&f, &head);
	/* it names a second path, but there is none */
	assert_int_equal(fs_call_head(&f.call, &e), ERR_NOT_FOUND);
	assert_int_equal(f.rq.failure.code, HTTP_FILE_NOT_FOUND);
	assert_non_null(strstr(f.rq.failure.message, "not found: a"));
	fake_close(&f);
}

static void an_executor_that_reads_no_more_is_heard(void **state)
{
	const struct fs_head head = {.status = FS_NO_SPACE};
	static char data[300000];
	struct fake f;
	struct errinfo e;

	(void)state;
	fake_open(&f);
	fake_head(&f, &head);
	own_fd(&f.in);
	assert_int_equal(fs_call_put(&f.call, data, sizeof(data), &e),
			 ERR_NONE);
	assert_int_equal(fs_call_put_end(&f.call, &e), ERR_NONE);
	assert_int_not_equal(fs_call_head(&f.call, &e), ERR_NONE);
	assert_int_equal(f.rq.failure.code, HTTP_NO_SPACE);
	fake_close(&f);
}

static void deleting_a_directory_says_what_to_use(void **state)
{
	const struct fs_head head = {.status = FS_IS_DIR};
	struct fake f;
	struct errinfo e;

	(void)state;
	fake_open(&f);
	f.call.op = "file.delete";
	fake_head(&f, &head);
	assert_int_not_equal(fs_call_head(&f.call, &e), ERR_NONE);
	assert_int_equal(f.rq.failure.code, HTTP_IS_DIRECTORY);
	assert_non_null(
	    strstr(f.rq.failure.message, "Cannot delete directory"));
	assert_non_null(strstr(f.rq.failure.message, "deleteFile()"));
	fake_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_short_body_is_an_error),
	    cmocka_unit_test(more_than_was_announced_is_never_read),
	    cmocka_unit_test(noise_is_no_head),
	    cmocka_unit_test(half_a_head_and_the_end_is_a_dead_executor),
	    cmocka_unit_test(a_silent_executor_runs_into_the_deadline),
	    cmocka_unit_test(a_failure_is_told_with_its_path),
	    cmocka_unit_test(an_executor_that_reads_no_more_is_heard),
	    cmocka_unit_test(deleting_a_directory_says_what_to_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
