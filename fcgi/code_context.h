/*
 * Contexts: a row that lasts, and a kernel that may be lost and started
 * anew. What the routes of contexts and of code runs have in common.
 */
#ifndef FCGI_CODE_CONTEXT_H
#define FCGI_CODE_CONTEXT_H

#include "fcgi/code_lang.h"
#include "fcgi/sandbox_link.h"
#include "store/node_context.h"

struct code_context_want {
	const char *id;
	const struct code_lang *lang;
	const char *cwd; /* as the tenant gave it; NULL: the default */
	struct json_object *env;
};

/**
 * code_context_lang(rq, name, lang, e):
 * Errors: ERR_ARG, 400 naming "language" and the valid ones.
 */
FALLIBLE enum err code_context_lang(struct request *rq, const char *name,
				    const struct code_lang **lang,
				    struct errinfo *e);

/**
 * code_context_create(rq, l, want, out, e):
 * Insert the row and start its kernel; waits for nothing but that it
 * runs. Owns: ${out} is freed by node_context_free.
 * Errors: ERR_EXISTS, nothing noted: there is a context of that id;
 * ERR_LIMIT (429); ERR_ARG (400, cwd); what link_start failed with.
 */
FALLIBLE enum err code_context_create(struct request *rq, struct link *l,
				      const struct code_context_want *want,
				      struct node_context *out,
				      struct errinfo *e);

/** code_context_get(rq, id, out, e): Errors: ERR_NOT_FOUND, 404 noted. */
FALLIBLE enum err code_context_get(struct request *rq, const char *id,
				   struct node_context *out, struct errinfo *e);

/**
 * code_context_revive(rq, l, ctx, e):
 * The keeper does not know ${ctx}'s kernel: wait a moment if somebody else
 * is just starting it, else start a fresh one. ${ctx} is read anew.
 */
FALLIBLE enum err code_context_revive(struct request *rq, struct link *l,
				      struct node_context *ctx,
				      struct errinfo *e);

/**
 * code_context_restart(rq, l, ctx, e):
 * A fresh kernel for ${ctx}, whose old one has ended.
 */
FALLIBLE enum err code_context_restart(struct request *rq, struct link *l,
				       struct node_context *ctx,
				       struct errinfo *e);

/**
 * code_context_end(rq, id, grace_ms, reason, end, e):
 * Kill the execution ${id} of a running sandbox and wait until it ended;
 * one that nobody knows or that has ended is fine. ${end} may be NULL; its
 * reason stays END_NONE when nothing had to be ended.
 * Errors: ERR_TIMEOUT. Blocks: for the grace time and 5 s.
 */
FALLIBLE enum err code_context_end(struct request *rq, const char *id,
				   uint32_t grace_ms, enum end_reason reason,
				   struct keeper_end *end, struct errinfo *e);

#endif
