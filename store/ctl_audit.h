/* What was done by whom; no secret ever stands here. */
#ifndef STORE_CTL_AUDIT_H
#define STORE_CTL_AUDIT_H

#include "store/db.h"

struct ctl_audit {
	const char *tenant; /* id, or "" for the operator's own acts */
	const char *actor;  /* a key's prefix, or "operator" */
	const char *action; /* "sandbox.create", "key.revoke", … */
	const char *target; /* what it was done to */
	const char *name;   /* what that was called; NULL: nothing else */
};

/** ctl_audit_add(c, a, e): Append a row, stamped now. */
FALLIBLE enum err ctl_audit_add(struct store_conn *c, const struct ctl_audit *a,
				struct errinfo *e);

#endif
