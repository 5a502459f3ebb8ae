/* A sandbox as tenants see it, S, and what they ask one to be. */
#ifndef FCGI_SANDBOX_ROW_H
#define FCGI_SANDBOX_ROW_H

#include "fcgi/json_out.h"
#include "fcgi/route.h"
#include "fcgi/sandbox_limit.h"

/* What becomes of it unused, as it came; ms are -1 where it does not say. */
struct life_want {
	const char *sleep_after;
	const char *stop_after;
	const char *delete_after;
	bool keep_alive;
	struct ctl_life_change change;
};

/* The settings of a PATCH. */
struct sandbox_change {
	struct life_want life;
	struct json_object *object;
	const char *labels; /* NULL: as they are */
};

/* The settings of a POST as they came, and as a spec of the store's. */
struct sandbox_want {
	const char *name;
	const char *image;
	const char *user;
	struct json_object *env;
	struct json_object *labels;
	struct json_object *limits;
	struct sandbox_net_want net;
	struct life_want life;
	struct ctl_sandbox_spec spec;
	struct ctl_limits holds; /* of what is asked for */
	struct ctl_net net_holds;
};

/**
 * sandbox_row_want(rq, w, e):
 * Read and check the body. Errors: with the failure noted.
 */
FALLIBLE enum err sandbox_row_want(struct request *rq, struct sandbox_want *w,
				   struct errinfo *e);

/** sandbox_row_change(rq, c, e): The same for a PATCH. */
FALLIBLE enum err sandbox_row_change(struct request *rq,
				     struct sandbox_change *c,
				     struct errinfo *e);

/** sandbox_row_same(w, s): What was given in ${w} is what ${s} has. */
bool sandbox_row_same(const struct sandbox_want *w,
		      const struct ctl_sandbox *s);

/** sandbox_row_put(rq, o, key, s): S. */
void sandbox_row_put(const struct request *rq, struct json_out *o,
		     const char *key, const struct ctl_sandbox *s);

/** sandbox_row_answer(rq, status, e): rq->sandbox as the answer. */
FALLIBLE enum err sandbox_row_answer(struct request *rq, int status,
				     struct errinfo *e);

/** sandbox_audit(rq, action, target, name): Who did it, to what, and what
 * that is called; for the operator. */
void sandbox_audit(struct request *rq, const char *action, const char *target,
		   const char *name);

#endif
