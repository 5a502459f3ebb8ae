/* A data directory of its own for each test, with fresh databases. */
#ifndef UNIT_STORE_UNIT_H
#define UNIT_STORE_UNIT_H

/* cmocka.h needs these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id.h"
#include "store/ctl_sandbox.h"
#include "store/ctl_tenant.h"
#include "store/db.h"
#include "store/log_chunk.h"
#include "store/migrate.h"

#define TEST(f) cmocka_unit_test_setup_teardown(f, unit_setup, unit_teardown)
#define OK(call) assert_int_equal((call), ERR_NONE)
#define FAILS(call, code) assert_int_equal((call), (code))

struct unit {
	char dir[64];
	struct store_conn *c;
	struct ctl_tenant a, b;
	struct errinfo e;
};

static inline int unit_unlink(const char *path, const struct stat *st, int type,
			      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline int unit_setup(void **state)
{
	struct unit *u = calloc(1, sizeof(*u));
	char path[96];

	id_init();
	if (u == NULL)
		return -1;
	snprintf(u->dir, sizeof(u->dir), "/tmp/unit-store-XXXXXX");
	if (mkdtemp(u->dir) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/db", u->dir);
	if (mkdir(path, 0700) != 0 ||
	    migrate_all(u->dir, NULL, &u->e) != ERR_NONE ||
	    store_open(u->dir, &u->c, &u->e) != ERR_NONE ||
	    ctl_tenant_add(u->c, "acme", &u->a, &u->e) != ERR_NONE ||
	    ctl_tenant_add(u->c, "bolt", &u->b, &u->e) != ERR_NONE) {
		fprintf(stderr, "set-up: %s\n", u->e.text);
		return -1;
	}
	*state = u;
	return 0;
}

static inline int unit_teardown(void **state)
{
	struct unit *u = *state;

	store_close(&u->c);
	nftw(u->dir, unit_unlink, 16, FTW_DEPTH | FTW_PHYS);
	free(u);
	return 0;
}

/* A sandbox of tenant ${t}. Owns: the caller frees ${out}. */
static inline void unit_sandbox(struct unit *u, const struct ctl_tenant *t,
				const char *name, struct ctl_sandbox *out)
{
	const struct ctl_sandbox_spec spec = {.name = name,
					      .image = "host",
					      .user = "root",
					      .labels = "{\"team\":\"red\"}",
					      .env = "{\"TOKEN\":\"hush\"}",
					      .limits.of = {
						  [LIMIT_MEMORY] = 1 << 28,
						  [LIMIT_PIDS] = 128,
					      }};
	bool made = false;

	OK(ctl_sandbox_reserve(u->c, t->id, &spec, out, &made, &u->e));
	assert_true(made);
}

/* One event appended in a group of its own making. */
static inline enum err unit_append(struct unit *u, const char *sandbox,
				   const char *exec,
				   const struct keeper_event *ev,
				   const struct log_bounds *bounds)
{
	const struct log_batch b = {.tenant = u->a.id,
				    .sandbox = sandbox,
				    .exec = exec,
				    .bounds = bounds,
				    .events = ev,
				    .n = 1};

	return log_chunk_append(u->c, &b, &u->e);
}

#endif
