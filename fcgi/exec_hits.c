#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/exec_hits.h"
#include "fcgi/sandbox_link.h"
#include "store/node_denial.h"

static void hits_put_count(struct json_out *o, const char *key, uint64_t v)
{
	json_out_int(o, key, v < INT64_MAX ? (int64_t)v : INT64_MAX);
}

void exec_hits_put(struct json_out *o, const struct keeper_hits *h)
{
	bool any = false;

	for (int i = 0; i < HIT_COUNT; i++) {
		const struct keeper_hit *x = &h->of[i];

		if (x->hits == 0)
			continue;
		if (!any)
			json_out_array(o, "limits");
		any = true;
		json_out_object(o, NULL);
		json_out_text(o, "name", keeper_hit_name((enum hit_kind)i));
		hits_put_count(o, "limit", x->limit);
		if (x->used > 0)
			hits_put_count(o, "used", x->used);
		hits_put_count(o, "hits", x->hits);
		json_out_end(o);
	}
	if (any)
		json_out_end(o);
}

/* That it was counted is no reason to fail the answer. */
static void hits_count(struct request *rq, const struct node_denial *d)
{
	struct errinfo e;
	bool parked = rq->store == NULL;

	if ((parked && route_unpark(rq, &e) != ERR_NONE) ||
	    node_denial_add(rq->store, rq->sandbox.id, d, &e) != ERR_NONE)
		log_err("count a denial", &e);
	if (parked && rq->store != NULL)
		route_park(rq);
}

static struct node_denial hits_denial(const char *what, const char *limit)
{
	struct node_denial d = {.count = 1, .last_ms = clock_unix_ms()};

	snprintf(d.what, sizeof(d.what), "%s", what);
	snprintf(d.policy, sizeof(d.policy), "limits.%s", limit);
	return d;
}

void exec_hits_output(struct request *rq, uint64_t used, struct keeper_hits *h)
{
	const struct node_denial d = hits_denial(keeper_hit_what(HIT_OUTPUT),
						 keeper_hit_name(HIT_OUTPUT));

	h->of[HIT_OUTPUT] = (struct keeper_hit){
	    .limit = (uint64_t)rq->sandbox.limits.of[LIMIT_OUTPUT],
	    .used = used,
	    .hits = 1,
	};
	hits_count(rq, &d);
}

enum err exec_hits_refuse(struct request *rq, struct errinfo *e,
			  enum ctl_limit limit, const char *what,
			  const char *many)
{
	const char *name = ctl_limit_table[limit].name;
	const struct node_denial d = hits_denial(what, name);
	int64_t most = rq->sandbox.limits.of[limit];

	hits_count(rq, &d);
	err_http_text(rq, "name", name);
	json_out_int(err_http_context(rq), "limit", most);
	json_out_int(err_http_context(rq), "used", most);
	return err_http_fail(rq, e, HTTP_LIMIT_EXCEEDED,
			     "The sandbox has %lld %s already, the most that "
			     "it may have",
			     (long long)most, many);
}

/* ---- file calls ---- */

static enum err hits_usage(struct request *rq, struct keeper_usage *out,
			   struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	struct wire_msg *m = NULL;
	enum err r = link_open(rq, LINK_LIVE, &l, e);

	if (r == ERR_NONE)
		r = link_call(&l, KM_USAGE, NULL, &m, e);
	return r == ERR_NONE ? keeper_get_usage(m, out, e) : r;
}

static void hits_tell(struct request *rq, enum ctl_limit limit,
		      const char *what, uint64_t most, uint64_t used)
{
	const char *name = ctl_limit_table[limit].name;
	const struct node_denial d = hits_denial(what, name);
	struct json_out *o = err_http_context(rq);

	err_http_text(rq, "name", name);
	hits_put_count(o, "limit", most);
	if (used > 0)
		hits_put_count(o, "used", used);
	hits_count(rq, &d);
}

static bool hits_in_memory(const char *path)
{
	return strncmp(path, "/tmp/", 5) == 0 ||
	       strncmp(path, "/dev/shm/", 9) == 0;
}

void exec_hits_space(struct request *rq, const char *path)
{
	const char *what = keeper_hit_what(HIT_DISK);
	struct keeper_usage u = {0};
	struct errinfo e;

	if (hits_in_memory(path)) {
		hits_tell(rq, LIMIT_TMP, what,
			  (uint64_t)rq->sandbox.limits.of[LIMIT_TMP], 0);
		return;
	}
	if (hits_usage(rq, &u, &e) != ERR_NONE) {
		log_err("usage of a disk without space", &e);
		u.disk_limit = (uint64_t)rq->sandbox.limits.of[LIMIT_DISK];
	}
	if (u.inodes_limit > 0 && u.inodes_used >= u.inodes_limit)
		hits_tell(rq, LIMIT_INODES, what, u.inodes_limit,
			  u.inodes_used);
	else
		hits_tell(rq, LIMIT_DISK, what, u.disk_limit, u.disk_used);
}

void exec_hits_file_size(struct request *rq)
{
	hits_tell(rq, LIMIT_FILE_SIZE, "file_size_limit",
		  (uint64_t)rq->sandbox.limits.of[LIMIT_FILE_SIZE], 0);
}
