/*
 * The bash kernel: frames of the kernel protocol on descriptor 3 on one side,
 * one bash that stays on the other. This is what keeps them in step.
 *
 * A run is two steps, so that what cannot run (syntax, cwd) runs nothing:
 * BEGIN, then RUN. An interrupt may throw away any line that the shell was
 * just reading; so lines are said again until the shell tells what is waited
 * for, and saying one twice does no harm.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/kernel_msg.h"
#include "base/own.h"
#include "base/wire.h"
#include "shell.h"
#include "show.h"

#define KERNEL_FD 3
#define KERNEL_TEXT_MAX 2048
#define KERNEL_PARTS_MAX 2000
#define KERNEL_AGAIN_MS 50 /* twice as long each time */
#define KERNEL_AGAIN_MAX 6
#define KERNEL_AGAIN_STUCK 4
#define KERNEL_APART_MS 500 /* between two SIGINT of the shell's */

/* START: the shell was told to run the cell, and may still be reading it. */
enum stage { STAGE_IDLE, STAGE_BEGIN, STAGE_START, STAGE_RUN };

struct run {
	struct run *next;
	uint32_t tag;
	struct json_object *json;
};

struct kernel {
	struct wire_rx rx;
	struct shell shell;
	struct show show;
	int signals;
	struct run *queue; /* the first is the one that runs */
	enum stage stage;
	int64_t count;
	bool interrupted;
	bool early;       /* a SIGINT came while no run was on */
	bool acking;      /* a RESULT waits for its ACK */
	int64_t again_ms; /* when to say it again */
	int again;
	int64_t signalled_ms; /* the shell, for this run; 0: not yet */
};

/* ---- frames ---- */

static void kernel_send(uint16_t type, uint32_t tag, struct json_object *o)
{
	size_t n;
	const char *text = json_object_to_json_string_length(
	    o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &n);
	OWN(buf_free) struct buf b = BUF_INIT(KERNEL_PAYLOAD_MAX);

	buf_add(&b, text, n);
	json_object_put(o);
	/* nobody there any more: end, and the shell with us */
	if (wire_send(KERNEL_FD, type, tag, &b, CLOCK_NEVER, NULL) != ERR_NONE)
		_exit(0);
}

static void put(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, show_text(text, strlen(text)));
}

static void kernel_error(const struct kernel *k, const char *name,
			 const char *value, const char *traceback)
{
	struct json_object *o = json_object_new_object();
	struct json_object *lines = json_object_new_array();

	put(o, "ename", name);
	put(o, "evalue", value);
	while (*traceback != '\0') {
		size_t n = strcspn(traceback, "\n");

		json_object_array_add(lines, show_text(traceback, n));
		traceback += n + (traceback[n] == '\n');
	}
	json_object_object_add(o, "traceback", lines);
	kernel_send(XM_ERROR, k->queue->tag, o);
}

/* ---- a run's steps ---- */

static void run_env(struct shell *sh, struct json_object *env)
{
	struct json_object_iterator it = json_object_iter_begin(env);
	struct json_object_iterator end = json_object_iter_end(env);

	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		struct json_object *v = json_object_iter_peek_value(&it);
		OWN(buf_free) struct buf b = BUF_INIT(KERNEL_PAYLOAD_MAX);

		if (v == NULL)
			continue;
		buf_adds(&b, json_object_iter_peek_name(&it));
		buf_addc(&b, '=');
		buf_adds(&b, json_object_get_string(v));
		shell_add_quoted(sh, buf_str(&b));
	}
}

/* Bash recurses over the parts of one command. */
static bool run_is_long(const char *code)
{
	size_t parts = 0;

	for (; *code != '\0'; code++)
		parts += strchr("\n;&|", *code) != NULL;
	return parts > KERNEL_PARTS_MAX;
}

static void run_say_begin(struct kernel *k)
{
	struct json_object *json = k->queue->json, *v;
	bool pieces = run_is_long(
	    json_object_get_string(json_object_object_get(json, "code")));
	char head[64];

	snprintf(head, sizeof(head), "__w_begin %lld %s ", (long long)k->count,
		 pieces ? "pieces" : "whole");
	shell_add(&k->shell, head);
	v = json_object_object_get(json, "cwd");
	shell_add_quoted(&k->shell, v == NULL ? "" : json_object_get_string(v));
	v = json_object_object_get(json, "env");
	if (v != NULL)
		run_env(&k->shell, v);
	if (!shell_begin(&k->shell))
		_exit(1);
}

static void run_say_done(struct kernel *k)
{
	char line[80];

	snprintf(line, sizeof(line),
		 "{ __w_done %lld $?; } 2>/dev/null || :", (long long)k->count);
	shell_add(&k->shell, line);
	shell_say(&k->shell);
}

static void kernel_again(struct kernel *k)
{
	k->again_ms = clock_mono_ms() + (KERNEL_AGAIN_MS << k->again);
}

static void kernel_next(struct kernel *k)
{
	struct json_object *code;

	if (k->stage != STAGE_IDLE || k->queue == NULL)
		return;
	code = json_object_object_get(k->queue->json, "code");
	k->count++;
	k->stage = STAGE_BEGIN;
	k->interrupted = false;
	k->again = 0;
	k->signalled_ms = 0;
	kernel_again(k);
	if (!shell_cell(json_object_get_string(code),
			(size_t)json_object_get_string_len(code)))
		_exit(1);
	run_say_begin(k);
}

static void run_finish(struct kernel *k)
{
	struct json_object *o = json_object_new_object();
	struct run *run = k->queue;

	json_object_object_add(o, "execution_count",
			       json_object_new_int64(k->count));
	kernel_send(XM_DONE, run->tag, o);
	k->queue = run->next;
	json_object_put(run->json);
	free(run);
	k->stage = STAGE_IDLE;
	k->early = false;
	k->again_ms = CLOCK_NEVER;
	kernel_next(k);
}

/* "bash: eval: line 1: `__w_f() { x = = )'", without what is ours. */
static void run_tidy(const char *from, struct buf *to)
{
	char file[64];
	const char *const ours[] = {"bash: eval: ", "__w_f() { ", SHELL_GO,
				    "bash: cd: ",   "bash: ",     file};

	snprintf(file, sizeof(file), "/proc/%d/fd/%d: ", (int)getpid(),
		 SHELL_FD_PIECES);

	while (*from != '\0') {
		size_t skip = 0;

		for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
			if (strncmp(from, ours[i], strlen(ours[i])) == 0)
				skip = strlen(ours[i]);
		if (skip == 0)
			buf_addc(to, *from++);
		from += skip;
	}
}

static void run_cannot(struct kernel *k, const char *name)
{
	OWN(buf_free) struct buf raw = BUF_INIT(KERNEL_PAYLOAD_MAX);
	OWN(buf_free) struct buf text = BUF_INIT(KERNEL_PAYLOAD_MAX);
	OWN(buf_free) struct buf first = BUF_INIT(KERNEL_PAYLOAD_MAX);

	shell_errors(&raw);
	run_tidy(buf_str(&raw), &text);
	buf_add(&first, buf_str(&text), strcspn(buf_str(&text), "\n"));
	kernel_error(k, name, buf_str(&first), buf_str(&text));
}

static void run_say_cell(struct kernel *k, bool whole)
{
	struct json_object *v = json_object_object_get(k->queue->json, "stdin");
	const char *text = v == NULL ? NULL : json_object_get_string(v);
	char line[128], from[64] = "/dev/null";

	if (!shell_input(&k->shell, text,
			 text == NULL ? 0
				      : (size_t)json_object_get_string_len(v)))
		_exit(1);
	if (text != NULL)
		snprintf(from, sizeof(from), "/proc/%d/fd/%d", (int)getpid(),
			 k->shell.input);
	snprintf(line, sizeof(line), "source /proc/%d/fd/%d <%s", (int)getpid(),
		 whole ? SHELL_FD_WHOLE : SHELL_FD_PIECES, from);
	shell_add(&k->shell, line);
	shell_say(&k->shell);
	run_say_done(k);
}

static void run_begun(struct kernel *k, const char *how)
{
	bool whole = strcmp(how, "whole") == 0;

	if (k->interrupted) {
		run_say_done(k);
		return;
	}
	if (!whole && strcmp(how, "pieces") != 0) {
		run_cannot(k, strcmp(how, "cwd") == 0 ? "DirectoryError"
						      : "SyntaxError");
		run_finish(k);
		return;
	}
	k->stage = STAGE_START;
	k->again_ms = CLOCK_NEVER;
	run_say_cell(k, whole);
}

static void run_status(struct kernel *k, int status, const char *line,
		       const char *command)
{
	char value[64], text[KERNEL_TEXT_MAX];
	const char *name = status > 128 ? sigabbrev_np(status - 128) : NULL;

	if (k->interrupted) {
		kernel_error(k, "Interrupted", "The run was interrupted",
			     "Interrupted: The run was interrupted");
		return;
	}
	snprintf(value, sizeof(value), "exit status %d%s%s%s", status,
		 name == NULL ? "" : " (SIG", name == NULL ? "" : name,
		 name == NULL ? "" : ")");
	if (strcmp(line, "0") == 0)
		snprintf(text, sizeof(text), "cell %lld\nExitStatus: %s",
			 (long long)k->count, value);
	else
		snprintf(text, sizeof(text),
			 "cell %lld, line %s:\n  %s\nExitStatus: %s",
			 (long long)k->count, line, command, value);
	kernel_error(k, "ExitStatus", value, text);
}

/* ---- interrupts ---- */

/*
 * On its way back from a SIGINT another one may end bash, so it is given time;
 * on_time() comes again. Its children are not told without it: a loop would
 * end with the one that it waits for, and look as if it had come to its end.
 */
static void kernel_signal(struct kernel *k)
{
	int64_t now = clock_mono_ms();

	if (now - k->signalled_ms < KERNEL_APART_MS)
		return;
	k->signalled_ms = now;
	shell_interrupt(&k->shell);
}

/*
 * What has only begun needs no signal: it is not run. While bash reads a cell
 * a signal might end it, too: that waits until the cell's first command runs.
 */
static void kernel_interrupt(struct kernel *k)
{
	if (k->stage == STAGE_IDLE) {
		k->early = true;
		return;
	}
	k->early = false;
	k->interrupted = true;
	k->again = 0;
	if (k->stage == STAGE_RUN)
		kernel_signal(k);
	kernel_again(k);
}

/* ---- what the shell tells ---- */

static void told_ready(const char *version)
{
	struct json_object *o = json_object_new_object();

	put(o, "language", "bash");
	put(o, "version", version);
	kernel_send(XM_READY, XM_READY_ALONE, o);
}

/* "KIND REST", and of a run "N REST"; what is told twice is old. */
static void kernel_told(struct kernel *k, char *text)
{
	char *kind = strsep(&text, " ");
	char *number = strsep(&text, " ");

	if (number == NULL)
		return;
	if (strcmp(kind, "ready") == 0) {
		told_ready(number);
		return;
	}
	if (text == NULL || strtoll(number, NULL, 10) != k->count)
		return;
	if (strcmp(kind, "begun") == 0 && k->stage == STAGE_BEGIN) {
		run_begun(k, text);
	} else if (strcmp(kind, "on") == 0 && k->stage == STAGE_START) {
		k->stage = STAGE_RUN;
		if (k->interrupted)
			kernel_signal(k);
	} else if (strcmp(kind, "done") == 0 && k->stage != STAGE_IDLE) {
		char *status = strsep(&text, " ");
		char *aside = strsep(&text, " ");
		char *line = strsep(&text, " ");
		int n = (int)strtol(status, NULL, 10);

		if (aside != NULL && strcmp(aside, "0") != 0) {
			shell_add(&k->shell, "__w_back || :");
			shell_say(&k->shell);
		}
		if (n != 0 || k->stage == STAGE_BEGIN)
			run_status(k, n, line == NULL ? "0" : line,
				   text == NULL ? "" : text);
		run_finish(k);
	}
}

static void on_shell(struct kernel *k)
{
	const char *text;
	size_t len;

	if (!shell_fill(&k->shell))
		return;
	while ((text = shell_told(&k->shell, &len)) != NULL) {
		OWN(own_mem) char *copy = strndup(text, len);

		shell_drop(&k->shell, len);
		if (copy != NULL)
			kernel_told(k, copy);
	}
}

/* ---- results ---- */

static void on_show(struct kernel *k)
{
	struct json_object *o, *mime;
	struct shown got;

	if (k->show.client < 0)
		show_accept(&k->show);
	if (k->show.client < 0 || !show_read(&k->show, &got))
		return;
	if (k->stage != STAGE_RUN || got.run != k->count) {
		/* a job of an earlier run's: output that comes late */
		bool ok = write(STDOUT_FILENO, got.data, got.len) >= 0 &&
			  write(STDOUT_FILENO, "\n", 1) == 1;

		show_answer(&k->show, ok);
		return;
	}
	mime = show_mime(&got);
	if (mime == NULL) {
		show_answer(&k->show, false);
		return;
	}
	o = json_object_new_object();
	json_object_object_add(o, "mime", mime);
	json_object_object_add(o, "display", json_object_new_boolean(true));
	kernel_send(XM_RESULT, k->queue->tag, o);
	k->acking = true;
}

/* ---- frames that come ---- */

static void kernel_queue(struct kernel *k, const struct wire_msg *msg)
{
	struct run *run = calloc(1, sizeof(*run)), **p = &k->queue;
	OWN(own_mem) char *text = strndup((const char *)msg->data, msg->len);

	if (run == NULL || text == NULL)
		_exit(1);
	run->tag = msg->tag;
	run->json = json_tokener_parse(text);
	if (json_object_object_get(run->json, "code") == NULL)
		_exit(1);
	while (*p != NULL)
		p = &(*p)->next;
	*p = run;
	kernel_next(k);
}

static void on_frames(struct kernel *k)
{
	struct wire_msg *msg;
	bool more;

	if (wire_rx_fill(&k->rx, KERNEL_FD, &more, NULL) != ERR_NONE)
		_exit(0); /* the shell dies with us */
	while (wire_rx_next(&k->rx, &msg, NULL) == ERR_NONE && msg != NULL) {
		if (msg->type == XM_RUN) {
			kernel_queue(k, msg);
		} else if (msg->type == XM_ACK && k->acking) {
			k->acking = false;
			show_answer(&k->show, true);
		} else if (msg->type == XM_INTERRUPT && k->early &&
			   k->queue != NULL && k->queue->tag == msg->tag) {
			kernel_interrupt(k); /* its SIGINT came before RUN */
		}
	}
}

/* ---- signals and time ---- */

static void on_signals(struct kernel *k)
{
	struct signalfd_siginfo si;
	int status;

	if (read(k->signals, &si, sizeof(si)) != sizeof(si))
		return;
	if (si.ssi_signo == SIGINT)
		kernel_interrupt(k);
	else if (waitpid(k->shell.pid, &status, WNOHANG) == k->shell.pid)
		shell_end(status);
}

static void on_time(struct kernel *k)
{
	k->again_ms = CLOCK_NEVER;
	if (k->stage == STAGE_IDLE || k->again++ >= KERNEL_AGAIN_MAX)
		return;
	kernel_again(k);
	if (k->interrupted) {
		/* bash that reads a cell for as long as that is stuck */
		if (k->stage == STAGE_RUN || k->again > KERNEL_AGAIN_STUCK)
			kernel_signal(k);
		run_say_done(k);
	} else if (k->stage == STAGE_BEGIN) {
		run_say_begin(k);
	}
}

/* ---- all of it ---- */

static bool kernel_open(struct kernel *k)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	wire_rx_init(&k->rx, KERNEL_PAYLOAD_MAX);
	k->again_ms = CLOCK_NEVER;
	if (fcntl(KERNEL_FD, F_SETFD, FD_CLOEXEC) < 0 || !shell_hold() ||
	    !show_open(&k->show))
		return false;
	k->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return k->signals >= 0 && shell_start(&k->shell, k->show.name);
}

static void kernel_turn(struct kernel *k)
{
	struct pollfd p[] = {
	    {.fd = KERNEL_FD, .events = POLLIN},
	    {.fd = k->shell.told, .events = POLLIN},
	    {.fd = k->show.client >= 0 ? k->show.client : k->show.door,
	     .events = POLLIN},
	    {.fd = k->signals, .events = POLLIN},
	};

	if (k->acking)
		p[2].fd = -1;
	if (poll(p, 4, clock_left_ms(k->again_ms)) < 0 && errno != EINTR)
		_exit(1);
	if (p[3].revents != 0) /* first: see early */
		on_signals(k);
	if (p[0].revents != 0)
		on_frames(k);
	if (p[1].revents != 0)
		on_shell(k);
	if (p[2].revents != 0)
		on_show(k);
	if (k->again_ms <= clock_mono_ms())
		on_time(k);
}

int main(int argc, char **argv)
{
	struct kernel k = {.stage = STAGE_IDLE};

	if (argc > 3 && strcmp(argv[1], "--display") == 0)
		return show_main(argc - 2, argv + 2);
	if (!kernel_open(&k)) {
		perror("kernel");
		return 1;
	}
	for (;;)
		kernel_turn(&k);
}
