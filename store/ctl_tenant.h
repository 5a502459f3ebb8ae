/* Tenants: customers, who own everything else. */
#ifndef STORE_CTL_TENANT_H
#define STORE_CTL_TENANT_H

#include <stdint.h>

#include "store/db.h"

#define CTL_TENANT_ID_LEN 17
#define CTL_TENANT_NAME_MAX 63

typedef char ctl_tenant_id_t[CTL_TENANT_ID_LEN + 1];

struct ctl_tenant {
	ctl_tenant_id_t id;
	char name[CTL_TENANT_NAME_MAX + 1];
	int64_t created_ms;
};

struct ctl_tenant_list {
	struct ctl_tenant *rows;
	size_t n;
};

/**
 * ctl_tenant_add(c, name, out, e):
 * A new tenant. Names are 1 to CTL_TENANT_NAME_MAX of [a-z0-9-], starting
 * with a letter or digit. Errors: ERR_ARG, ERR_EXISTS.
 */
FALLIBLE enum err ctl_tenant_add(struct store_conn *c, const char *name,
				 struct ctl_tenant *out, struct errinfo *e);

/** ctl_tenant_find(c, name, out, e): By name. Errors: ERR_NOT_FOUND. */
FALLIBLE enum err ctl_tenant_find(struct store_conn *c, const char *name,
				  struct ctl_tenant *out, struct errinfo *e);

/** ctl_tenant_list(c, out, e): All, by name. Owns: ${out} is the caller's. */
FALLIBLE enum err ctl_tenant_list(struct store_conn *c,
				  struct ctl_tenant_list *out,
				  struct errinfo *e);
void ctl_tenant_list_free(struct ctl_tenant_list *l);

/**
 * ctl_tenant_remove(c, id, e):
 * A tenant and its keys. Errors: ERR_STATE (it has sandboxes still, or is not
 * there); nothing is changed then.
 */
FALLIBLE enum err ctl_tenant_remove(struct store_conn *c, const char *id,
				    struct errinfo *e);

#endif
