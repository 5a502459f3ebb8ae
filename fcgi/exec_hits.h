/*
 * Limits that were hit, as tenants are told: beside the reason of an ending
 * stands "limits": [{name, limit, used, hits}], and each is counted among the
 * sandbox's denials.
 */
#ifndef FCGI_EXEC_HITS_H
#define FCGI_EXEC_HITS_H

#include "base/keeper_hit.h"
#include "fcgi/json_out.h"
#include "fcgi/route.h"

/** exec_hits_put(o, h): The member "limits", if any limit was hit. */
void exec_hits_put(struct json_out *o, const struct keeper_hits *h);

/**
 * exec_hits_output(rq, used, h):
 * Of ${used} bytes the answer has no more than the sandbox's outputBytes:
 * note that in ${h}, and count it.
 */
void exec_hits_output(struct request *rq, uint64_t used, struct keeper_hits *h);

/**
 * exec_hits_refuse(rq, e, limit, what, many):
 * So many are there already: 429 with name, limit and use in its context,
 * counted as ${what}. ${many}: "background processes". Returns an error.
 */
enum err exec_hits_refuse(struct request *rq, struct errinfo *e,
			  enum ctl_limit limit, const char *what,
			  const char *many);

/**
 * exec_hits_space(rq, path), exec_hits_file_size(rq):
 * A file call found no space at ${path}, or came to a file's largest size:
 * name, limit and use into the failure's context; it is counted.
 */
void exec_hits_space(struct request *rq, const char *path);
void exec_hits_file_size(struct request *rq);

#endif
