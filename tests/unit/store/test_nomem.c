/* Every allocation of SQLite's fails once: an error comes back, no more. */
#include "store/ctl_key.h"
#include "store/ctl_port.h"
#include "store/log_chunk.h"
#include "store/node_process.h"
#include "store/sql_query.h"
#include "store/stmt.h"
#include "store_unit.h"

static sqlite3_mem_methods real;
static long left = -1; /* allocations until one fails; -1: never */
static bool failed;

static bool fail_now(void)
{
	if (left < 0 || left-- > 0)
		return false;
	failed = true;
	return true;
}

static void *try_malloc(int n)
{
	return fail_now() ? NULL : real.xMalloc(n);
}

static void *try_realloc(void *p, int n)
{
	return fail_now() ? NULL : real.xRealloc(p, n);
}

static int install(void **state)
{
	sqlite3_mem_methods m;

	(void)state;
	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real) != SQLITE_OK)
		return -1;
	m = real;
	m.xMalloc = try_malloc;
	m.xRealloc = try_realloc;
	return sqlite3_config(SQLITE_CONFIG_MALLOC, &m) != SQLITE_OK;
}

static enum err no_head(void *arg, const char *const *names, size_t n,
			struct errinfo *e)
{
	(void)arg;
	(void)names;
	(void)n;
	(void)e;
	return ERR_NONE;
}

static enum err no_row(void *arg, const struct sql_value *v, size_t n,
		       struct errinfo *e)
{
	(void)arg;
	(void)v;
	(void)n;
	(void)e;
	return ERR_NONE;
}

static enum err logs(struct store_conn *c, const char *box, struct errinfo *e)
{
	OWN(log_page_free) struct log_page p = {.n = 0};
	const struct log_bounds b = {1000, 1000, 1000};
	struct keeper_event ev = {
	    .seq = 1, .kind = EVENT_OUT, .data = "0123456789", .len = 10};
	const struct log_batch batch = {.tenant = "t",
					.sandbox = box,
					.exec = "x",
					.bounds = &b,
					.events = &ev,
					.n = 1};
	enum err r = log_chunk_begin(c, e);

	for (; r == ERR_NONE && ev.seq < 20; ev.seq++)
		r = log_chunk_append(c, &batch, e);
	if (r != ERR_NONE) {
		log_chunk_rollback(c);
		return r;
	}
	r = log_chunk_commit(c, e);
	return r == ERR_NONE ? log_chunk_read(c, box, "x", 0, 10000, &p, e) : r;
}

static enum err rows(struct store_conn *c, const struct ctl_tenant *t,
		     const struct ctl_sandbox *s, struct errinfo *e)
{
	OWN(node_process_list_free) struct node_process_list l = {.n = 0};
	OWN(ctl_port_list_free) struct ctl_port_list ports = {.n = 0};
	OWN(ctl_sandbox_list_free) struct ctl_sandbox_list all = {.n = 0};
	const struct ctl_sandbox_filter f = {.label_key = "team"};
	const struct node_process_new n = {.sandbox = s->id, .id = "p"};
	struct ctl_port p = {.port = 80, .token = "t"};
	enum err r = node_process_add(c, &n, e);

	memcpy(p.sandbox, s->id, sizeof(p.sandbox));
	if (r == ERR_NONE)
		r = node_process_list(c, s->id, &l, e);
	if (r == ERR_NONE)
		r = ctl_port_add(c, t->id, &p, e);
	if (r == ERR_NONE)
		r = ctl_port_list(c, t->id, s->id, &ports, e);
	if (r == ERR_NONE)
		r = ctl_sandbox_list(c, t->id, &f, &all, e);
	return r;
}

/* A little of everything, under names of its own. */
static enum err all(struct unit *u, long n)
{
	OWN(store_close) struct store_conn *c = NULL;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	const struct sql_caps caps = SQL_CAPS_DEFAULT;
	const struct sql_sink sink = {.head = no_head, .row = no_row};
	struct ctl_sandbox_spec spec = {.image = "host"};
	struct ctl_tenant t;
	struct ctl_auth auth;
	char key[CTL_KEY_LEN + 1], name[32];
	bool made;
	id_sandbox_t id;
	enum err r = store_open(u->dir, &c, &u->e);

	snprintf(name, sizeof(name), "n%ld", n);
	spec.name = name;
	if (r == ERR_NONE)
		r = ctl_tenant_add(c, name, &t, &u->e);
	if (r == ERR_NONE)
		r = ctl_key_add(c, t.id, KEY_READ, key, &u->e);
	if (r == ERR_NONE)
		r = ctl_key_check(c, key, &auth, &u->e);
	if (r == ERR_NONE)
		r = ctl_sandbox_reserve(c, t.id, &spec, &s, &made, &u->e);
	if (r == ERR_NONE)
		r = rows(c, &t, &s, &u->e);
	if (r == ERR_NONE)
		r = logs(c, s.id, &u->e);
	if (r == ERR_NONE)
		r = sql_query_run(u->dir, "SELECT * FROM processes", &caps,
				  &sink, &u->e);
	if (r == ERR_NONE)
		r = ctl_sandbox_deleting(c, t.id, name, id, &u->e);
	return r == ERR_NONE ? ctl_sandbox_remove(c, s.id, &u->e) : r;
}

static void an_allocation_that_fails_is_an_error_and_no_more(void **state)
{
	struct unit *u = *state;
	long n = 0, runs = 0, errors = 0;

	do {
		enum err r;

		failed = false;
		left = n;
		r = all(u, n);
		left = -1;
		/* SQLite does without some of them. */
		if (r != ERR_NONE) {
			errors++;
			assert_true(r == ERR_NOMEM || r == ERR_STORE ||
				    r == ERR_DENIED);
		}
		runs++;
		/* Each of the first, then a sample of the many. */
		n += n < 200 ? 1 : 1 + n / 97;
	} while (failed);
	assert_true(runs > 200);
	assert_true(errors > runs / 2);
	/* What is left behind is whole. */
	OK(all(u, -1));
	assert_string_equal(u->a.name, "acme");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(an_allocation_that_fails_is_an_error_and_no_more),
	};

	return cmocka_run_group_tests(tests, install, NULL);
}
