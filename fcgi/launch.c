#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/launch.h"

#define SHELL "/bin/bash"
#define PLAIN_SHELL "/bin/sh"

/*
 * A command longer than one argument may be comes in pieces, which the shell
 * joins before it looks at them. Nothing of this is left when it runs.
 */
#define SHELL_JOIN "IFS=; eval \"IFS=' \t\n'; set --\n$*\""

void launch_free(struct launch *x)
{
	if (x == NULL)
		return;
	for (uint32_t i = 0; i < x->nowned; i++)
		free(x->owned[i]);
	free(x->owned);
	free(x->argv);
	json_in_env_free(x->env, x->envc);
	*x = (struct launch){0};
}

static enum err launch_room(struct launch *x, size_t argc, size_t owned,
			    struct errinfo *e)
{
	x->argv = calloc(argc, sizeof(*x->argv));
	x->owned = calloc(owned + 1, sizeof(*x->owned));
	if (x->argv == NULL || x->owned == NULL)
		return err_set(e, ERR_NOMEM, 0, "argv");
	return ERR_NONE;
}

/* Pieces that fit into one argument each. */
static enum err launch_cut(struct launch *x, const char *command, size_t n,
			   struct errinfo *e)
{
	for (size_t at = 0; at < n; at += LAUNCH_ARG_MAX) {
		char *piece = strndup(command + at, LAUNCH_ARG_MAX);

		if (piece == NULL)
			return err_set(e, ERR_NOMEM, 0, "argv");
		x->owned[x->nowned++] = piece;
		x->argv[x->argc++] = piece;
	}
	return ERR_NONE;
}

static size_t launch_count(size_t n)
{
	return (n + LAUNCH_ARG_MAX - 1) / LAUNCH_ARG_MAX;
}

enum err launch_shell(struct launch *x, const char *command, struct errinfo *e)
{
	size_t n = strlen(command);
	bool whole = n <= LAUNCH_ARG_MAX;
	size_t pieces = whole ? 1 : launch_count(n);
	enum err r = launch_room(x, pieces + 4, pieces, e);

	if (r != ERR_NONE)
		return r;
	x->shell = true;
	x->argv[x->argc++] = SHELL;
	x->argv[x->argc++] = "-c";
	if (whole) {
		x->argv[x->argc++] = command;
		return ERR_NONE;
	}
	x->argv[x->argc++] = SHELL_JOIN;
	x->argv[x->argc++] = SHELL;
	return launch_cut(x, command, n, e);
}

bool launch_plainly(struct launch *x)
{
	if (!x->shell || strcmp(x->argv[0], SHELL) != 0)
		return false;
	x->argv[0] = PLAIN_SHELL;
	return true;
}

enum err launch_no_shell(struct request *rq, const struct launch *x,
			 struct errinfo *e)
{
	if (x->shell) {
		err_http_suggest(rq, "Send the command as argv");
		return err_http_fail(rq, e, HTTP_SHELL_NOT_AVAILABLE,
				     "This image has neither " SHELL
				     " nor " PLAIN_SHELL);
	}
	return err_http_fail(rq, e, HTTP_SHELL_NOT_AVAILABLE,
			     "This image has no " SHELL
			     ", which sessions need");
}

enum err launch_pieces(struct launch *x, const char *command, struct errinfo *e)
{
	size_t n = strlen(command);
	enum err r = launch_room(x, launch_count(n) + 1, launch_count(n), e);

	return r == ERR_NONE ? launch_cut(x, command, n, e) : r;
}

static void launch_quote(struct buf *out, const char *s)
{
	buf_adds(out, " '");
	for (; *s != '\0'; s++)
		if (*s == '\'')
			buf_adds(out, "'\\''");
		else
			buf_addc(out, *s);
	buf_addc(out, '\'');
}

void launch_quoted(struct json_object *texts, struct buf *out)
{
	size_t n = json_object_array_length(texts);

	buf_adds(out, "(builtin exec --");
	for (size_t i = 0; i < n; i++)
		launch_quote(out, json_object_get_string(
				      json_object_array_get_idx(texts, i)));
	buf_addc(out, ')');
}

enum err launch_argv(struct launch *x, struct json_object *texts,
		     struct errinfo *e)
{
	size_t n = json_object_array_length(texts);
	enum err r = launch_room(x, n + 1, 0, e);

	for (size_t i = 0; r == ERR_NONE && i < n; i++)
		x->argv[x->argc++] = json_object_get_string(
		    json_object_array_get_idx(texts, i));
	return r;
}

/* Those of the sandbox that the call does not set itself. */
static void launch_under(struct json_object *base, struct json_object *env)
{
	struct json_object_iterator it, end;

	if (env == NULL)
		return;
	it = json_object_iter_begin(env);
	end = json_object_iter_end(env);
	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		struct json_object *v = json_object_iter_peek_value(&it);

		if (v != NULL)
			json_object_object_add(base,
					       json_object_iter_peek_name(&it),
					       json_object_get(v));
	}
}

enum err launch_env(struct request *rq, struct launch *x,
		    struct json_object *env, struct errinfo *e)
{
	const char *stored = rq->sandbox.env;
	struct json_object *base = NULL;
	enum err r;

	if (stored != NULL && stored[0] == '{' && strcmp(stored, "{}") != 0)
		base = json_tokener_parse(stored);
	if (base == NULL)
		return json_in_env(env, &x->env, &x->envc, e);
	launch_under(base, env);
	r = json_in_env(base, &x->env, &x->envc, e);
	json_object_put(base);
	return r;
}

enum err launch_timeout(struct request *rq, const char *field,
			int64_t *timeout_ms, uint32_t *flags, struct errinfo *e)
{
	int64_t most = rq->sandbox.limits.of[LIMIT_WALL];
	char why[96];

	if (*timeout_ms > most) {
		err_http_text(rq, "name", ctl_limit_table[LIMIT_WALL].name);
		json_out_int(err_http_context(rq), "limit", most);
		snprintf(why, sizeof(why),
			 "must be at most %lld in this sandbox",
			 (long long)most);
		return err_http_field(rq, e, field, why);
	}
	if (*timeout_ms > 0)
		return ERR_NONE;
	*timeout_ms = most;
	*flags |= KF_WALL;
	return ERR_NONE;
}

enum err launch_cwd(struct request *rq, struct launch *x, const char *cwd,
		    struct errinfo *e)
{
	int n;

	x->cwd_given = cwd != NULL && cwd[0] != '\0';
	if (!x->cwd_given)
		n = snprintf(x->cwd, sizeof(x->cwd), "%s", LAUNCH_CWD);
	else if (cwd[0] == '/')
		n = snprintf(x->cwd, sizeof(x->cwd), "%s", cwd);
	else
		n = snprintf(x->cwd, sizeof(x->cwd), "%s/%s", LAUNCH_CWD, cwd);
	if (n < 0 || (size_t)n >= sizeof(x->cwd))
		return err_http_field(rq, e, "cwd", "is too long");
	return ERR_NONE;
}

void launch_fill(const struct request *rq, const struct launch *x,
		 struct keeper_start *s)
{
	s->user = rq->sandbox.user;
	/* /workspace itself may have been removed; a cwd that was asked for
	 * may not. */
	s->cwd = x->cwd_given ? x->cwd : "";
	s->argv = x->argv;
	s->argc = x->argc;
	s->env = (const char *const *)x->env;
	s->envc = x->envc;
}

enum err launch_full(struct request *rq, enum err r, struct errinfo *e)
{
	int64_t most = rq->sandbox.limits.of[LIMIT_PIDS];

	if (r != ERR_LIMIT)
		return r;
	err_http_suggest(rq, "End what still runs: DELETE "
			     "/api/process/kill-all, which needs no room");
	if (strcmp(e->text, "processes") != 0)
		return err_http_fail(rq, e, HTTP_LIMIT_EXCEEDED,
				     "The sandbox has too much running");
	err_http_text(rq, "name", ctl_limit_table[LIMIT_PIDS].name);
	json_out_int(err_http_context(rq), "limit", most);
	json_out_int(err_http_context(rq), "used", most);
	return err_http_fail(rq, e, HTTP_LIMIT_EXCEEDED,
			     "The sandbox has %lld processes and threads, the "
			     "most that it may have",
			     (long long)most);
}

enum err launch_refused(struct request *rq, const struct launch *x, enum err r,
			struct errinfo *e)
{
	char why[sizeof(e->text)];

	memcpy(why, e->text, sizeof(why));
	if (strcmp(why, "cwd") == 0) {
		err_http_text(rq, "cwd", x->cwd);
		snprintf(why, sizeof(why), "%.160s %s", x->cwd,
			 r == ERR_NOT_FOUND ? "does not exist"
					    : "cannot be entered");
		return err_http_field(rq, e, "cwd", why);
	}
	if (strcmp(why, "argv") == 0 && r == ERR_LIMIT)
		return err_http_fail(rq, e, HTTP_INVALID_COMMAND,
				     "The command and its environment are "
				     "too large together");
	if (strcmp(why, "argv") == 0) {
		if (x->argc > 0)
			err_http_text(rq, "command", x->argv[0]);
		return err_http_fail(rq, e,
				     r == ERR_NOT_FOUND ? HTTP_COMMAND_NOT_FOUND
							: HTTP_INVALID_COMMAND,
				     "The command %s",
				     r == ERR_NOT_FOUND ? "was not found"
							: "cannot be run");
	}
	return launch_full(rq, r, e);
}
