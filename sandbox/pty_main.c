/*
 * warren-pty COLS ROWS IDLE_MS PROGRAM [ARGUMENT]...
 *
 * A terminal: PROGRAM ("": bash, or sh) on a pty of the sandbox, as its user.
 * It runs inside like any other program, so that nobody outside opens a device
 * or a path of a sandbox for it. What it reads and writes: pty_frame.h. Without
 * input for IDLE_MS (0: never) it hangs up, as it does on SIGTERM and SIGHUP:
 * interactive shells ignore SIGTERM. It ends as PROGRAM did.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/pty_frame.h"

#define OUT_BYTES 65536
#define IN_BYTES 65536
#define DRAIN_MS 500 /* for the last words of a program that ended */
#define HUNG_MS 2000 /* from a hang-up to a kill */
#define ALONE_MS 50  /* nobody has it open: look again so soon */

struct pty {
	int master; /* -1 once it hung up */
	int signals;
	pid_t child;
	bool ended; /* the program was reaped */
	int status;
	bool deaf;    /* stdin has ended */
	bool no_more; /* nothing comes from the terminal any more */
	int64_t idle_ms;
	int64_t input_at_ms;
	int64_t drain_until_ms;
	int64_t hung_at_ms;
	int64_t alone_until_ms;
	struct pty_parser parser;
	char in[IN_BYTES]; /* for the terminal */
	size_t in_len;
	char out[OUT_BYTES]; /* from it */
	size_t out_len;
};

/* ---- making it ---- */

noreturn static void child_main(int slave, char **argv)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (setsid() < 0 || ioctl(slave, TIOCSCTTY, 0) < 0 ||
	    dup2(slave, 0) < 0 || dup2(slave, 1) < 0 || dup2(slave, 2) < 0)
		_exit(126);
	if (argv[0][0] == '\0') { /* any shell */
		execl("/bin/bash", "bash", (char *)NULL);
		execl("/bin/sh", "sh", (char *)NULL);
	}
	execvp(argv[0], argv);
	fprintf(stderr, "%s: %s\r\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static bool pty_open(struct pty *p, const struct winsize *size, char **argv)
{
	OWN(own_fd) int slave = -1;
	int unlocked = 0;

	p->master = open("/dev/ptmx",
			 O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (p->master < 0 || ioctl(p->master, TIOCSPTLCK, &unlocked) < 0 ||
	    ioctl(p->master, TIOCSWINSZ, size) < 0)
		return false;
	slave = ioctl(p->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return false;
	p->child = fork();
	if (p->child == 0)
		child_main(slave, argv);
	return p->child > 0;
}

/* ---- its end ---- */

/* The terminal is gone for all that use it. */
static void hang_up(struct pty *p)
{
	if (p->master < 0)
		return;
	own_fd(&p->master);
	p->in_len = 0;
	p->no_more = true;
	p->hung_at_ms = clock_mono_ms();
	if (!p->ended) {
		kill(-p->child, SIGHUP);
		kill(-p->child, SIGCONT);
	}
}

noreturn static void end_as(int status)
{
	const struct rlimit none = {0, 0};

	if (WIFSIGNALED(status)) {
		sigset_t one;

		setrlimit(RLIMIT_CORE, &none);
		signal(WTERMSIG(status), SIG_DFL);
		sigemptyset(&one);
		sigaddset(&one, WTERMSIG(status));
		raise(WTERMSIG(status));
		sigprocmask(SIG_UNBLOCK, &one, NULL);
	}
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void on_signals(struct pty *p)
{
	struct signalfd_siginfo si;

	while (read(p->signals, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo != SIGCHLD) {
			hang_up(p);
			continue;
		}
		if (!p->ended &&
		    waitpid(p->child, &p->status, WNOHANG) == p->child) {
			p->ended = true;
			p->drain_until_ms = clock_mono_ms() + DRAIN_MS;
		}
	}
}

/* ---- bytes ---- */

static void pty_bytes(void *arg, const uint8_t *data, size_t n)
{
	struct pty *p = arg;

	/* There is room: read_frames() reads no more than fits. */
	memcpy(p->in + p->in_len, data, n);
	p->in_len += n;
}

static void pty_size(void *arg, uint16_t cols, uint16_t rows)
{
	struct pty *p = arg;
	struct winsize size = {.ws_col = cols, .ws_row = rows};

	if (p->master >= 0)
		ioctl(p->master, TIOCSWINSZ, &size);
}

static void read_frames(struct pty *p)
{
	static const struct pty_sink sink = {pty_bytes, pty_size};
	uint8_t data[IN_BYTES];
	ssize_t n = read(STDIN_FILENO, data, IN_BYTES - p->in_len);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		p->deaf = true;
		return;
	}
	p->input_at_ms = clock_mono_ms();
	pty_parse(&p->parser, data, (size_t)n, &sink, p);
	if (p->master < 0)
		p->in_len = 0;
}

static void write_in(struct pty *p)
{
	ssize_t n = write(p->master, p->in, p->in_len);

	if (n <= 0)
		return;
	p->in_len -= (size_t)n;
	memmove(p->in, p->in + n, p->in_len);
}

/* As much as there is, so that it is one event rather than many. */
static void read_out(struct pty *p)
{
	while (p->out_len < OUT_BYTES) {
		ssize_t n = read(p->master, p->out + p->out_len,
				 OUT_BYTES - p->out_len);

		if (n > 0) {
			p->out_len += (size_t)n;
			continue;
		}
		/* EIO: nobody has it open, which can change. */
		if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
			p->no_more = p->ended;
			p->alone_until_ms = clock_mono_ms() + ALONE_MS;
		}
		return;
	}
}

static void write_out(struct pty *p)
{
	ssize_t n = write(STDOUT_FILENO, p->out, p->out_len);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) { /* nobody is there to see it */
		p->out_len = 0;
		hang_up(p);
		return;
	}
	p->out_len -= (size_t)n;
	memmove(p->out, p->out + n, p->out_len);
}

/* ---- the loop ---- */

static int wait_ms(const struct pty *p)
{
	int64_t at = CLOCK_NEVER;

	if (p->ended)
		return clock_left_ms(p->drain_until_ms);
	if (p->master < 0)
		return clock_left_ms(p->hung_at_ms + HUNG_MS);
	if (p->idle_ms > 0)
		at = p->input_at_ms + p->idle_ms;
	if (clock_left_ms(p->alone_until_ms) > 0 && p->alone_until_ms < at)
		at = p->alone_until_ms;
	return clock_left_ms(at);
}

static void on_time(struct pty *p)
{
	if (p->ended)
		return;
	if (p->master < 0) {
		kill(-p->child, SIGKILL);
		p->hung_at_ms = clock_mono_ms();
		return;
	}
	if (p->idle_ms > 0 && clock_left_ms(p->input_at_ms + p->idle_ms) == 0)
		hang_up(p);
}

static short master_events(const struct pty *p)
{
	if (!p->ended && clock_left_ms(p->alone_until_ms) > 0)
		return 0;
	return (short)((p->out_len < OUT_BYTES && !p->no_more ? POLLIN : 0) |
		       (p->in_len > 0 ? POLLOUT : 0));
}

/* False when all is done. */
static bool pty_step(struct pty *p)
{
	bool room = p->in_len < IN_BYTES / 2 && !p->deaf;
	short master = master_events(p);
	struct pollfd w[] = {
	    {.fd = p->signals, .events = POLLIN},
	    {.fd = room ? STDIN_FILENO : -1, .events = POLLIN},
	    {.fd = p->out_len > 0 ? STDOUT_FILENO : -1, .events = POLLOUT},
	    /* A hang-up would be told for ever. */
	    {.fd = master != 0 ? p->master : -1, .events = master}};
	int n = poll(w, sizeof(w) / sizeof(w[0]), wait_ms(p));

	if (n == 0)
		on_time(p);
	if (w[0].revents != 0)
		on_signals(p);
	if (w[1].revents != 0)
		read_frames(p);
	if (p->master >= 0 && (w[3].revents & POLLOUT) != 0)
		write_in(p);
	if (p->master >= 0 && (w[3].revents & (POLLIN | POLLHUP)) != 0)
		read_out(p);
	if (w[2].revents != 0)
		write_out(p);
	if (!p->ended)
		return true;
	return (!p->no_more || p->out_len > 0) &&
	       clock_left_ms(p->drain_until_ms) > 0;
}

static bool pty_signals(struct pty *p)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, SIGCHLD);
	sigaddset(&s, SIGTERM);
	sigaddset(&s, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &s, NULL);
	p->signals = signalfd(-1, &s, SFD_CLOEXEC | SFD_NONBLOCK);
	return p->signals >= 0;
}

static bool nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static bool number(const char *text, long long max, long long *out)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	return errno == 0 && end != text && *end == '\0' && *out >= 0 &&
	       *out <= max;
}

int main(int argc, char **argv)
{
	static struct pty p = {.master = -1, .signals = -1};
	struct winsize size = {0};
	long long cols, rows, idle;

	if (argc < 5 || !number(argv[1], PTY_SIDE_MAX, &cols) ||
	    !number(argv[2], PTY_SIDE_MAX, &rows) ||
	    !number(argv[3], INT32_MAX, &idle))
		return 2;
	size.ws_col = (unsigned short)cols;
	size.ws_row = (unsigned short)rows;
	p.idle_ms = idle;
	p.input_at_ms = clock_mono_ms();
	if (!pty_signals(&p) || !nonblock(STDIN_FILENO) ||
	    !nonblock(STDOUT_FILENO) || !pty_open(&p, &size, argv + 4)) {
		dprintf(STDOUT_FILENO, "No terminal: %s\r\n", strerror(errno));
		return 125;
	}
	while (pty_step(&p))
		continue;
	end_as(p.status);
}
