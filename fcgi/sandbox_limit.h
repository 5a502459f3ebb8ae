/*
 * A sandbox's limits and network: what is asked for, whether the tenant may
 * have it, how it is shown, and as the broker takes it.
 */
#ifndef FCGI_SANDBOX_LIMIT_H
#define FCGI_SANDBOX_LIMIT_H

#include "base/broker_msg.h"
#include "fcgi/json_out.h"
#include "fcgi/route.h"
#include "store/ctl_plan.h"

/* As it came; NULL: not given. */
struct sandbox_net_want {
	const char *policy;
	struct json_object *allow; /* arrays of text */
	struct json_object *deny;
};

/**
 * sandbox_limit_read(rq, limits, out, e):
 * The members of the body's object ${limits} (NULL: none) into ${out}; what
 * is not given is 0. Errors: with the failure noted, naming limits.<name>.
 */
FALLIBLE enum err sandbox_limit_read(struct request *rq,
				     struct json_object *limits,
				     struct ctl_limits *out, struct errinfo *e);

/** sandbox_limit_net(rq, w, out, e): The same for the network. */
FALLIBLE enum err sandbox_limit_net(struct request *rq,
				    const struct sandbox_net_want *w,
				    struct ctl_net *out, struct errinfo *e);

/**
 * sandbox_limit_check(rq, spec, a, e):
 * ${spec} asks for no more than the tenant's ${a} gives. Errors: ERR_ARG
 * with a 400 noted that names the field; the limit is in its context.
 */
FALLIBLE enum err sandbox_limit_check(struct request *rq,
				      const struct ctl_sandbox_spec *spec,
				      const struct ctl_allowance *a,
				      struct errinfo *e);

/** sandbox_limit_put(o, s): limits, network, networkAllow, networkDeny. */
void sandbox_limit_put(struct json_out *o, const struct ctl_sandbox *s);

/** sandbox_limit_start(s, req): The part of START that is about limits. */
void sandbox_limit_start(const struct ctl_sandbox *s, struct broker_req *req);

#endif
