#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shell.h"

#define SHELL_FD_STDERR 9 /* the shell's real stderr, for its driver */
#define SHELL_RX_MAX (1U << 20)
#define SHELL_LINE_MAX (64U << 20)

/* Move ${fd} to ${to}, close-on-exec. */
static bool shell_place(int fd, int to)
{
	if (fd < 0)
		return false;
	if (fd == to)
		return true;
	if (dup3(fd, to, O_CLOEXEC) < 0)
		return false;
	close(fd);
	return true;
}

bool shell_hold(void)
{
	for (int fd = SHELL_FD_WHOLE; fd <= SHELL_FD_STDERR; fd++)
		if (dup3(STDIN_FILENO, fd, O_CLOEXEC) < 0)
			return false;
	return true;
}

static bool shell_files(struct shell *sh)
{
	int told[2] = {-1, -1};

	if (!shell_place(memfd_create("cell", MFD_CLOEXEC), SHELL_FD_WHOLE) ||
	    !shell_place(memfd_create("cell", MFD_CLOEXEC), SHELL_FD_PIECES) ||
	    !shell_place(memfd_create("errors", MFD_CLOEXEC),
			 SHELL_FD_ERRORS) ||
	    !shell_place(memfd_create("begin", MFD_CLOEXEC), SHELL_FD_BEGIN) ||
	    /* the rest of a cut line may be their name: no program */
	    fchmod(SHELL_FD_WHOLE, 0600) < 0 ||
	    fchmod(SHELL_FD_PIECES, 0600) < 0 ||
	    fchmod(SHELL_FD_BEGIN, 0600) < 0 || pipe2(told, O_CLOEXEC) < 0 ||
	    !shell_place(told[1], SHELL_FD_TOLD))
		return false;
	sh->told = told[0];
	return true;
}

_Noreturn static void shell_child(int in)
{
	char *argv[] = {"bash",        "--noprofile", "--norc",
			"--noediting", "-i",          NULL};
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t none;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* what it says of the terminal that it has not, nobody needs */
	if (dup2(STDERR_FILENO, SHELL_FD_STDERR) < 0 || dup2(in, 0) < 0 ||
	    null < 0 || dup2(null, STDERR_FILENO) < 0)
		_exit(126);
	sigaction(SIGPIPE, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv("/bin/bash", argv);
	_exit(127);
}

/* source DRIVER PID PROGRAM AT */
static bool shell_drive(struct shell *sh, const char *at)
{
	char exe[PATH_MAX], driver[PATH_MAX + 16], pid[32];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (n < 0)
		return false;
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	snprintf(driver, sizeof(driver), "%.*s/driver.bash",
		 slash == NULL ? 0 : (int)(slash - exe), exe);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	shell_add(sh, "source ");
	shell_add_quoted(sh, driver);
	shell_add_quoted(sh, pid);
	shell_add_quoted(sh, exe);
	shell_add_quoted(sh, at);
	shell_say(sh);
	return true;
}

bool shell_start(struct shell *sh, const char *at)
{
	int in[2];

	*sh = (struct shell){.rx = BUF_INIT(SHELL_RX_MAX),
			     .line = BUF_INIT(SHELL_LINE_MAX),
			     .input = -1};
	if (!shell_files(sh) || pipe2(in, O_CLOEXEC) < 0)
		return false;
	sh->in = in[1];
	sh->pid = fork();
	if (sh->pid == 0)
		shell_child(in[0]);
	close(in[0]);
	if (sh->pid < 0)
		return false;
	return shell_drive(sh, at);
}

/* ---- cells ---- */

static bool write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t m = write(fd, p, n);

		if (m < 0)
			return false;
		p += m;
		n -= (size_t)m;
	}
	return true;
}

static bool shell_file(int fd, const char *before, const char *text, size_t n,
		       const char *after)
{
	return ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
	       write_all(fd, before, strlen(before)) &&
	       write_all(fd, text, n) && write_all(fd, after, strlen(after));
}

bool shell_cell(const char *code, size_t n)
{
	return shell_file(SHELL_FD_WHOLE, "{ " SHELL_GO, code, n, "\n}\n") &&
	       shell_file(SHELL_FD_PIECES, SHELL_GO, code, n, "\n");
}

bool shell_input(struct shell *sh, const char *text, size_t n)
{
	if (sh->input >= 0)
		close(sh->input);
	sh->input = text == NULL ? -1 : memfd_create("stdin", MFD_CLOEXEC);
	return text == NULL ||
	       (sh->input >= 0 && fchmod(sh->input, 0600) == 0 &&
		write_all(sh->input, text, n));
}

void shell_errors(struct buf *out)
{
	char part[4096];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(SHELL_FD_ERRORS, part, sizeof(part), at)) > 0) {
		buf_add(out, part, (size_t)n);
		at += n;
	}
}

/* ---- what is said ---- */

void shell_add(struct shell *sh, const char *text)
{
	buf_adds(&sh->line, text);
}

void shell_add_quoted(struct shell *sh, const char *text)
{
	buf_addc(&sh->line, '\'');
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			buf_adds(&sh->line, "'\\''");
		else
			buf_addc(&sh->line, *text);
	}
	buf_adds(&sh->line, "' ");
}

void shell_say(struct shell *sh)
{
	/* An interrupt that waits takes the first character it meets. */
	static const char blank[] = "    \n        ";

	if (buf_ok(&sh->line) && !write_all(sh->in, blank, sizeof(blank) - 1))
		sh->line.len = 0;
	buf_addc(&sh->line, '\n');
	/* a shell that is gone is seen by its SIGCHLD */
	if (buf_ok(&sh->line) &&
	    !write_all(sh->in, sh->line.data, sh->line.len))
		sh->line.len = 0;
	buf_reset(&sh->line);
}

bool shell_begin(struct shell *sh)
{
	char line[96];
	bool ok = buf_ok(&sh->line) &&
		  shell_file(SHELL_FD_BEGIN, "", buf_str(&sh->line),
			     sh->line.len, "\n");

	buf_reset(&sh->line);
	snprintf(line, sizeof(line),
		 "{ . /proc/%d/fd/%d; } 2>/dev/null || :", (int)getpid(),
		 SHELL_FD_BEGIN);
	shell_add(sh, line);
	shell_say(sh);
	return ok;
}

/* ---- what is told ---- */

bool shell_fill(struct shell *sh)
{
	char *to = buf_space(&sh->rx, 4096);
	ssize_t n = to == NULL ? -1 : read(sh->told, to, 4096);

	if (n <= 0)
		return false;
	buf_grow(&sh->rx, (size_t)n);
	return true;
}

const char *shell_told(struct shell *sh, size_t *len)
{
	if (sh->rx.len == 0 || memchr(sh->rx.data, 0, sh->rx.len) == NULL)
		return NULL;
	*len = strlen(sh->rx.data);
	return sh->rx.data;
}

void shell_drop(struct shell *sh, size_t len)
{
	buf_drop(&sh->rx, len + 1);
}

/* ---- ends ---- */

/* All below that are not of ${group}; not those that init has adopted. */
static void interrupt_below(pid_t pid, pid_t group)
{
	char path[64];
	FILE *in;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
		 (int)pid);
	in = fopen(path, "re");
	if (in == NULL)
		return;
	while (fscanf(in, "%d", &child) == 1) {
		interrupt_below(child, group);
		if (getpgid(child) != group)
			kill(child, SIGINT);
	}
	fclose(in);
}

void shell_interrupt(const struct shell *sh)
{
	/* at once: bash asks how the one died that it waited for */
	kill(-sh->pid, SIGINT);
	interrupt_below(sh->pid, sh->pid);
}

_Noreturn void shell_end(int status)
{
	struct rlimit none = {0};

	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	_exit(128 + WTERMSIG(status));
}
