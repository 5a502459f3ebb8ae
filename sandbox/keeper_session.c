#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/keeper_client.h"
#include "sandbox/keeper_exec.h"
#include "sandbox/keeper_init.h"
#include "sandbox/keeper_session.h"
#include "sandbox/session_state.h"
#include "sandbox/session_text.h"

#define TAIL_MAX 8192

/* See session.bash, which is what "." reads first. */
#define SESSION_FROM ". /dev/fd/3 2>/dev/null; "
#define SESSION_CALL                                                           \
	SESSION_FROM "{ builtin eval \"$__w_a\"; } 2>/dev/null; "              \
		     "builtin eval \"$__w_c\" 3>&-; "                          \
		     "{ builtin eval \"$__w_z\"; } 2>/dev/null"
#define SESSION_PROCESS SESSION_FROM "builtin eval \"$__w_b\""

struct session *session_find(struct keeper *k, const char *id)
{
	struct session *s = k->sessions;

	while (s != NULL && (s->ended || strcmp(s->id, id) != 0))
		s = s->next;
	return s;
}

static void session_free(struct session *s)
{
	struct session **p = &s->keeper->sessions;

	while (*p != s)
		p = &(*p)->next;
	*p = s->next;
	buf_free(&s->state);
	free(s->cwd);
	free(s);
}

/* In single quotes, as a shell reads it. */
static void add_quoted(struct buf *b, const char *text)
{
	buf_addc(b, '\'');
	for (const char *p = text; *p != '\0'; p++)
		if (*p == '\'')
			buf_adds(b, "'\\''");
		else
			buf_addc(b, *p);
	buf_adds(b, "'\n");
}

static void first_state(struct buf *b, const char *cwd, const char *const *env,
			uint32_t envc)
{
	for (uint32_t i = 0; i < envc; i++) {
		const char *eq = strchr(env[i], '=');

		if (eq == NULL) {
			buf_addf(b, "builtin unset -v %s\n", env[i]);
			continue;
		}
		buf_addf(b, "builtin export %.*s=", (int)(eq - env[i]), env[i]);
		add_quoted(b, eq + 1);
	}
	/* Also where none is given: the call's own is not the session's. */
	buf_adds(b, "builtin cd / && builtin cd -- ");
	add_quoted(b, cwd[0] != '\0' ? cwd : "/workspace");
	buf_adds(b, SESSION_SAVED);
}

enum err session_new(struct keeper *k, const char *id, const char *cwd,
		     const char *const *env, uint32_t envc,
		     struct session **out, struct errinfo *e)
{
	struct session *s;
	int n = 0;

	if (!id_text_ok(id))
		return err_set(e, ERR_ARG, 0, "session");
	if (session_find(k, id) != NULL)
		return err_set(e, ERR_EXISTS, 0, "session");
	for (s = k->sessions; s != NULL; s = s->next)
		n++;
	if (n >= SESSIONS_MAX)
		return err_set(e, ERR_LIMIT, 0, "sessions");
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return err_set(e, ERR_NOMEM, 0, "session");
	s->keeper = k;
	snprintf(s->id, sizeof(s->id), "%s", id);
	s->created_ms = clock_unix_ms();
	s->state = (struct buf)BUF_INIT(SESSION_STATE_MAX);
	first_state(&s->state, cwd, env, envc);
	if (!buf_ok(&s->state)) {
		buf_free(&s->state);
		free(s);
		return err_set(e, ERR_LIMIT, 0, "session env");
	}
	s->cwd = cwd[0] != '\0' ? strdup(cwd) : NULL;
	s->next = k->sessions;
	k->sessions = s;
	*out = s;
	return ERR_NONE;
}

/* A process whose command is one piece: it follows on a line of its own, so
 * that the session's aliases are known when it is read. */
static const char *wrap_process(char *to, size_t size, const char *command)
{
	snprintf(to, size, "%s\n%s", SESSION_PROCESS, command);
	return to;
}

bool session_wrap(const struct keeper_start *s, struct keeper_start *out,
		  const char ***args)
{
	static char count[16]; /* one loop, no threads */
	bool process = s->kind == EXEC_PROCESS && s->argc == 1;
	size_t room = (size_t)s->argc + s->envc + 8;
	size_t text = process ? sizeof(SESSION_PROCESS) + strlen(s->argv[0]) + 1
			      : 0;
	const char **v = calloc(1, room * sizeof(*v) + text);
	uint32_t n = 0;

	if (v == NULL)
		return false;
	snprintf(count, sizeof(count), "%u", s->envc);
	v[n++] = "/bin/bash";
	v[n++] = "-c";
	v[n++] = process ? wrap_process((char *)(v + room), text, s->argv[0])
			 : SESSION_CALL;
	v[n++] = "bash";
	v[n++] = s->cwd;
	v[n++] = count;
	for (uint32_t i = 0; i < s->envc; i++)
		v[n++] = s->env[i];
	for (uint32_t i = 0; i < s->argc && !process; i++)
		v[n++] = s->argv[i];
	*out = *s;
	out->argv = v;
	out->argc = n;
	out->envc = 0;
	*args = v;
	return true;
}

/* ---- turns ---- */

static bool write_all(int fd, const char *p, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

int session_file(const char *state, size_t len)
{
	OWN(own_fd) int fd = memfd_create("session", MFD_CLOEXEC);

	if (fd < 0 || !write_all(fd, session_text, strlen(session_text)) ||
	    !write_all(fd, state, len))
		return -1;
	return STEAL_FD(fd);
}

static void spawn_drop(struct exec *x)
{
	buf_free(&x->turn.spawn);
	for (int i = 0; i < WIRE_FDS_MAX; i++)
		own_fd(&x->turn.fds[i]);
}

/* To init with it, from the state as it is now. */
static enum err session_go(struct exec *x, struct errinfo *e)
{
	struct turn *t = &x->turn;
	enum err r;

	t->number = ++x->session->turns;
	t->state = session_file(x->session->state.data, x->session->state.len);
	t->fds[3] = t->state < 0 ? -1 : fcntl(t->state, F_DUPFD_CLOEXEC, 3);
	if (t->fds[3] < 0)
		return err_set(e, ERR_IO, errno, "session state");
	r = init_link_spawn(x->keeper, x->tag, &t->spawn, t->fds, 4, e);
	if (r != ERR_NONE)
		return r;
	for (int i = 0; i < WIRE_FDS_MAX; i++)
		t->fds[i] = -1;
	exec_start_limit(x);
	return ERR_NONE;
}

/* Others are before it, and it is not one that runs beside them. */
static bool session_queue(struct session *s, struct exec *x)
{
	struct exec **p = &s->waits;

	if (x->kind != EXEC_CALL || (x->flags & KF_ASIDE) != 0)
		return false;
	if (s->call == NULL) {
		s->call = x;
		return false;
	}
	while (*p != NULL)
		p = &(*p)->turn.next;
	*p = x;
	x->turn.waits = true;
	return true;
}

enum err session_enter(struct exec *x, const char *id, struct buf *spawn,
		       int fds[WIRE_FDS_MAX], struct errinfo *e)
{
	struct session *s = session_find(x->keeper, id);
	enum err r = ERR_NONE;

	if (s == NULL && (x->flags & KF_SESSION_HAVE) != 0)
		r = err_set(e, ERR_NOT_FOUND, 0, "session");
	else if (s == NULL)
		r = session_new(x->keeper, id, "", NULL, 0, &s, e);
	if (r != ERR_NONE)
		return r;
	x->session = s;
	s->refs++;
	x->turn.spawn = *spawn;
	*spawn = (struct buf){0};
	for (int i = 0; i < WIRE_FDS_MAX; i++)
		x->turn.fds[i] = STEAL_FD(fds[i]);
	return session_queue(s, x) ? ERR_NONE : session_go(x, e);
}

bool session_waits(const struct exec *x)
{
	return x->session != NULL && x->turn.waits;
}

/* The shell did not come to saving: it reads what it was given. */
static bool state_untouched(int fd)
{
	char text[64];
	size_t n = strnlen(session_text, sizeof(text));

	return pread(fd, text, n, 0) == (ssize_t)n &&
	       memcmp(text, session_text, n) == 0;
}

bool session_shell_ended(const struct exec *x)
{
	char text[TAIL_MAX];
	struct session_tail tail;
	struct stat st;
	ssize_t n;
	off_t at;

	if (x->session == NULL || x->kind != EXEC_CALL || x->turn.state < 0)
		return false;
	if (fstat(x->turn.state, &st) < 0)
		return false;
	if (state_untouched(x->turn.state))
		return true;
	at = st.st_size > TAIL_MAX ? st.st_size - TAIL_MAX : 0;
	n = pread(x->turn.state, text, sizeof(text), at);
	return n <= 0 || !session_state_tail(text, (size_t)n, &tail) ||
	       !tail.through;
}

/* The state that a call left, if it saved all of it. */
static bool state_read(int fd, struct buf *out)
{
	const size_t mark = strlen(SESSION_SAVED);
	struct stat st;
	size_t size;
	void *to;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > SESSION_STATE_MAX ||
	    state_untouched(fd))
		return false;
	size = (size_t)st.st_size;
	to = size < mark ? NULL : buf_space(out, size);
	if (to == NULL || pread(fd, to, size, 0) != (ssize_t)size)
		return false;
	buf_grow(out, size);
	if (memcmp(out->data + size - mark, SESSION_SAVED, mark) != 0)
		return false;
	session_state_trim(out);
	return true;
}

/*
 * Of calls that ran side by side, the one that began last and changed
 * something is kept, whenever it ended.
 */
static void session_take(struct session *s, const struct turn *t)
{
	OWN(buf_free) struct buf b = BUF_INIT(SESSION_STATE_MAX);
	struct session_tail tail;

	if (t->number < s->taken || !state_read(t->state, &b) ||
	    session_state_same(&s->state, &b))
		return;
	s->taken = t->number;
	buf_free(&s->state);
	s->state = b;
	b = (struct buf){0};
	if (!session_state_tail(s->state.data, s->state.len, &tail) ||
	    tail.cwd_len == 0 || tail.cwd_len > PATH_MAX || tail.cwd[0] != '/')
		return;
	free(s->cwd);
	s->cwd = strndup(tail.cwd, tail.cwd_len);
}

static void start_next(struct session *s)
{
	while (s->call == NULL && s->waits != NULL && !s->ended &&
	       !s->keeper->gone) {
		struct exec *x = s->waits;
		struct errinfo e;

		s->waits = x->turn.next;
		x->turn.next = NULL;
		x->turn.waits = false;
		s->call = x;
		if (session_go(x, &e) == ERR_NONE)
			return;
		log_err("next call of a session", &e);
		s->call = NULL;
		exec_never(x, e.code, e.text); /* leaves the session, too */
		return;
	}
}

void session_leave(struct exec *x)
{
	struct session *s = x->session;
	struct exec **p;

	if (s == NULL)
		return;
	x->session = NULL;
	spawn_drop(x);
	for (p = &s->waits; *p != NULL && *p != x; p = &(*p)->turn.next)
		continue;
	if (*p == x)
		*p = x->turn.next;
	x->turn.waits = false;
	if (s->call == x)
		s->call = NULL;
	if (x->kind == EXEC_CALL)
		session_take(s, &x->turn);
	own_fd(&x->turn.state);
	s->refs--;
	start_next(s);
	if (s->ended && s->refs == 0)
		session_free(s);
}

bool session_end(struct keeper *k, const char *id, uint32_t grace_ms)
{
	struct session *s = session_find(k, id);

	if (s == NULL)
		return false;
	s->ended = true;
	s->refs++; /* ours, while its executions leave */
	for (struct exec *x = k->execs, *next; x != NULL; x = next) {
		next = x->next;
		if (x->session == s)
			exec_kill(x, END_KILLED, grace_ms);
	}
	if (--s->refs == 0)
		session_free(s);
	return true;
}
