#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/node_retry.h"
#include "store/node_row.h"

void node_retry_free(struct node_retry *x)
{
	free(x->answer);
	x->answer = NULL;
}

static enum err retry_use(struct store_conn *c, enum stmt_id id,
			  const char *scope, const char *key, struct stmt *q,
			  struct errinfo *e)
{
	enum err r = stmt_use(c, id, q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(q, ":sandbox", scope);
	if (key != NULL)
		stmt_text(q, ":key", key);
	return ERR_NONE;
}

static enum err retry_expire(struct store_conn *c, const char *scope,
			     struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = retry_use(c, STMT_RETRY_EXPIRE, scope, NULL, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_int(&q, ":expired", clock_unix_ms() - NODE_RETRY_MS);
	stmt_int(&q, ":max", NODE_RETRY_MAX);
	return stmt_run(&q, NULL, e);
}

static enum err retry_add(struct store_conn *c, const char *scope,
			  const char *key, const struct node_retry *x,
			  struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = retry_use(c, STMT_RETRY_ADD, scope, key, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_blob(&q, ":hash", x->hash, sizeof(x->hash));
	stmt_text(&q, ":made", x->made);
	stmt_int(&q, ":now", clock_unix_ms());
	return stmt_run(&q, NULL, e);
}

static enum err retry_get(struct store_conn *c, const char *scope,
			  const char *key, struct node_retry *x,
			  struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = retry_use(c, STMT_RETRY_GET, scope, key, &q, e);
	const void *hash;
	size_t n;

	if (r == ERR_NONE)
		r = stmt_row(&q, e);
	if (r != ERR_NONE)
		return r;
	hash = stmt_col_blob(&q, 0, &n);
	if (n != sizeof(x->hash))
		return err_set(e, ERR_STORE, 0, "hash of a retried call");
	memcpy(x->hash, hash, n);
	stmt_col_copy(&q, 1, x->made, sizeof(x->made));
	x->answer = stmt_col_dup(&q, 2);
	return stmt_copied(&q, e);
}

enum err node_retry_begin(struct store_conn *c, const char *scope,
			  const char *key, struct node_retry *x, bool *first,
			  struct errinfo *e)
{
	enum err r = retry_expire(c, scope, e);

	if (r != ERR_NONE)
		return r;
	r = retry_add(c, scope, key, x, e);
	*first = r == ERR_NONE;
	return r == ERR_EXISTS ? retry_get(c, scope, key, x, e) : r;
}

enum err node_retry_answer(struct store_conn *c, const char *scope,
			   const char *key, const char *answer,
			   struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = retry_use(c, STMT_RETRY_ANSWER, scope, key, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":answer", answer);
	return stmt_run(&q, NULL, e);
}

enum err node_retry_remove(struct store_conn *c, const char *scope,
			   const char *key, const char *made, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = retry_use(c, STMT_RETRY_REMOVE, scope, key, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":made", made);
	return stmt_run(&q, NULL, e);
}
