/* One file operation in a child, as init runs it: pipes at 0 and 1. */
#ifndef TESTS_UNIT_INIT_FS_UNIT_H
#define TESTS_UNIT_INIT_FS_UNIT_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs_msg.h"
#include "base/own.h"
#include "base/wire.h"
#include "sandbox/fs.h"

#define UNIT_OUT_MAX (64U << 20)
#define UNIT_WAIT_MS 20000

struct fs_unit {
	char dir[64]; /* the current directory of every operation */
	uid_t uid;    /* 0: as we are */
	struct buf in;
	struct buf out;
	struct fs_head head;
	const char *body; /* after the head */
	size_t body_len;
	int exit_code;
};

static inline int fs_unit_open(void **state)
{
	struct fs_unit *u = calloc(1, sizeof(*u));

	assert_non_null(u);
	u->in.max_bytes = UNIT_OUT_MAX;
	u->out.max_bytes = UNIT_OUT_MAX;
	snprintf(u->dir, sizeof(u->dir), "/tmp/fs_unit.XXXXXX");
	assert_non_null(mkdtemp(u->dir));
	assert_int_equal(chdir(u->dir), 0);
	*state = u;
	return 0;
}

static inline int fs_unit_close(void **state)
{
	struct fs_unit *u = *state;
	char command[128];

	assert_int_equal(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -rf %s", u->dir);
	assert_int_equal(system(command), 0);
	buf_free(&u->in);
	buf_free(&u->out);
	free(u);
	return 0;
}

/* The input of the next operation: one more chunk; n = 0 ends it. */
static inline void fs_unit_chunk(struct fs_unit *u, const void *p, size_t n)
{
	wire_u32(&u->in, (uint32_t)n);
	buf_add(&u->in, p, n);
}

static inline void fs_unit_input(struct fs_unit *u, const char *s)
{
	buf_reset(&u->in);
	if (s[0] != '\0')
		fs_unit_chunk(u, s, strlen(s));
	fs_unit_chunk(u, "", 0);
}

static inline pid_t fs_unit_fork(const struct fs_unit *u, const int *in,
				 const int *out, const char *const *argv)
{
	int argc = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	while (argv[argc] != NULL)
		argc++;
	dup2(in[0], 0);
	dup2(out[1], 1);
	close_range(3, ~0U, 0);
	if (u->uid != 0 && (setgid(u->uid) < 0 || setuid(u->uid) < 0))
		_exit(99);
	_exit(fs_run(argc, argv));
}

static inline void fs_unit_feed(struct fs_unit *u, int fd, size_t *fed)
{
	ssize_t n = write(fd, u->in.data + *fed, u->in.len - *fed);

	if (n > 0)
		*fed += (size_t)n;
	else if (errno != EAGAIN)
		*fed = u->in.len; /* it reads no more */
}

/* Feed and drain until the executor closed its output. */
static inline void fs_unit_talk(struct fs_unit *u, int in, int out)
{
	int64_t deadline = clock_mono_ms() + UNIT_WAIT_MS;
	size_t fed = 0;

	fcntl(in, F_SETFL, O_NONBLOCK);
	for (;;) {
		struct pollfd p[2] = {{.fd = out, .events = POLLIN},
				      {.fd = in, .events = POLLOUT}};
		char *space;
		ssize_t n;

		if (fed == u->in.len && in >= 0) {
			close(in);
			in = p[1].fd = -1;
		}
		assert_true(poll(p, 2, clock_left_ms(deadline)) > 0);
		if (in >= 0 && p[1].revents != 0)
			fs_unit_feed(u, in, &fed);
		if (p[0].revents == 0)
			continue;
		space = buf_space(&u->out, 65536);
		assert_non_null(space);
		n = read(out, space, 65536);
		assert_true(n >= 0);
		if (n == 0)
			break;
		buf_grow(&u->out, (size_t)n);
	}
	if (in >= 0)
		close(in);
}

/* Run it with the input there is; the input is used up. */
static inline enum fs_status fs_unit_runv(struct fs_unit *u,
					  const char *const *argv)
{
	int in[2];
	int out[2];
	int status;
	pid_t pid;

	signal(SIGPIPE, SIG_IGN);
	buf_reset(&u->out);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid = fs_unit_fork(u, in, out, argv);
	close(in[0]);
	close(out[1]);
	fs_unit_talk(u, in[1], out[0]);
	close(out[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	u->exit_code = WEXITSTATUS(status);
	buf_reset(&u->in);
	assert_true(u->out.len >= FS_HEAD_LEN);
	assert_int_equal(
	    fs_get_head((const uint8_t *)u->out.data, &u->head, NULL),
	    ERR_NONE);
	u->body = u->out.data + FS_HEAD_LEN;
	u->body_len = u->out.len - FS_HEAD_LEN;
	return u->head.status;
}

#define fs_unit_run(u, ...)                                                    \
	fs_unit_runv(u, (const char *const[]){__VA_ARGS__, NULL})

static inline void fs_unit_put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	assert_int_equal(fclose(f), 0);
}

static inline void fs_unit_has(const char *path, const char *text)
{
	char got[4096] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	got[fread(got, 1, sizeof(got) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(got, text);
}

/* The entries of the current directory but . and .. */
static inline int fs_unit_count(void)
{
	FILE *f = popen("ls -A | wc -l", "r");
	int n = -1;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &n), 1);
	pclose(f);
	return n;
}

#define FS_CASE(f)                                                             \
	cmocka_unit_test_setup_teardown(f, fs_unit_open, fs_unit_close)

#endif
