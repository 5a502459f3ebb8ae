/*
 * warren selftest: prove on the running service that the walls hold, and
 * measure what it carries.
 */
#ifndef STORE_WARREN_SELFTEST_H
#define STORE_WARREN_SELFTEST_H

#include "store/ctl_key.h"
#include "store/ctl_tenant.h"
#include "store/warren_attempt.h"
#include "store/warren_cli.h"
#include "store/warren_load.h"

#define SELFTEST_TENANTS 2

/* Tenants of our own; two, so that one can reach for the other's. */
struct selftest_keys {
	bool made;
	ctl_tenant_id_t id[SELFTEST_TENANTS];
	char name[SELFTEST_TENANTS][CTL_TENANT_NAME_MAX + 1];
	char key[SELFTEST_TENANTS][CTL_KEY_LEN + 1];
};

/**
 * warren_selftest_keys_make(cli, k, e), warren_selftest_keys_remove(…):
 * In a child, which becomes the owner of the databases: this program stays
 * root, to see what sandboxes take. Both only with the service's own data
 * directory.
 */
FALLIBLE enum err warren_selftest_keys_make(struct cli *cli,
					    struct selftest_keys *k,
					    struct errinfo *e);
FALLIBLE enum err warren_selftest_keys_remove(struct cli *cli,
					      const struct selftest_keys *k,
					      struct errinfo *e);

#define BURST_COUNT 100

/* What the burst came to; bytes are -1 where they could not be seen. */
struct burst_result {
	double start_ms;      /* until each of them had run `true` */
	double one_ms;        /* the median of some, one after another */
	double end_ms;        /* until all were gone */
	int64_t cgroup_bytes; /* of one sandbox */
	int64_t keeper_bytes;
	int64_t kernel_bytes;
};

/**
 * warren_burst_run(h, run, out, e):
 * BURST_COUNT sandboxes at once: each runs `true`; then all are deleted, also
 * when something failed. ${run} is NULL for a service elsewhere.
 */
FALLIBLE enum err warren_burst_run(struct warren_http *h,
				   const struct warren_run *run,
				   struct burst_result *out, struct errinfo *e);

#endif
