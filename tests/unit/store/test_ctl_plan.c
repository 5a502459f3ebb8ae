/* Plans, tenants' limits, and what holds for a sandbox. */
#include "store/ctl_plan.h"
#include "store/stmt.h"
#include "store_unit.h"

static void parse(struct unit *u, const char *text, struct ctl_limits *l,
		  struct ctl_net *n)
{
	if (ctl_limits_parse(text, l, n, &u->e) != ERR_NONE)
		fail_msg("%s: %s", text, u->e.text);
}

static void the_default_plan_fits_a_small_machine(void **state)
{
	struct unit *u = *state;
	struct ctl_plan p;

	OK(ctl_plan_get(u->c, "default", &p, &u->e));
	assert_int_equal(p.limits.of[LIMIT_MEMORY], 1 << 30);
	assert_int_equal(p.limits.of[LIMIT_CPU], 1000);
	assert_int_equal(p.limits.of[LIMIT_PIDS], 512);
	assert_int_equal(p.limits.of[LIMIT_DISK], INT64_C(2) << 30);
	assert_int_equal(p.limits.of[LIMIT_INODES], 200000);
	assert_int_equal(p.limits.of[LIMIT_OUTPUT], 10 << 20);
	assert_int_equal(p.limits.of[LIMIT_PROCESS_LOG], 64 << 20);
	assert_int_equal(p.limits.of[LIMIT_LOG], 512 << 20);
	assert_int_equal(p.limits.of[LIMIT_TENANT_LOG], INT64_C(2) << 30);
	assert_int_equal(p.limits.of[LIMIT_BACKUP], INT64_C(10) << 30);
	assert_int_equal(p.limits.of[LIMIT_CONTEXTS], 64);
	assert_int_equal(p.limits.of[LIMIT_PROCESSES], 64);
	assert_int_equal(p.limits.of[LIMIT_SANDBOXES], 1000);
	/* The migration's other values are allowed ones too. */
	memcpy(p.name, "same", 5);
	OK(ctl_plan_add(u->c, &p, &u->e));
}

static void a_tenant_has_its_plans_limits_but_for_its_own(void **state)
{
	struct unit *u = *state;
	struct ctl_allowance a, b;
	struct ctl_plan p;

	OK(ctl_plan_get(u->c, "default", &p, &u->e));
	memcpy(p.name, "small", 6);
	p.limits.of[LIMIT_MEMORY] = 256 << 20;
	OK(ctl_plan_add(u->c, &p, &u->e));
	FAILS(ctl_plan_add(u->c, &p, &u->e), ERR_EXISTS);
	OK(ctl_plan_allowance(u->c, u->a.id, &a, &u->e));
	assert_string_equal(a.plan, "default");
	memcpy(a.plan, "small", 6);
	parse(u, "pids=64", &a.own, &a.own_net);
	parse(u, "network=none", &a.own, &a.own_net);
	OK(ctl_plan_allow(u->c, u->a.id, &a, &u->e));
	OK(ctl_plan_allowance(u->c, u->a.id, &a, &u->e));
	assert_string_equal(a.plan, "small");
	assert_int_equal(a.most.of[LIMIT_MEMORY], 256 << 20);
	assert_int_equal(a.most.of[LIMIT_PIDS], 64);
	assert_int_equal(a.own.of[LIMIT_MEMORY], 0);
	assert_string_equal(a.most_net.policy, "none");
	OK(ctl_plan_allowance(u->c, u->b.id, &b, &u->e));
	assert_int_equal(b.most.of[LIMIT_PIDS], 512);
	assert_string_equal(b.most_net.policy, "internet");
	parse(u, "pids=default", &a.own, &a.own_net);
	OK(ctl_plan_allow(u->c, u->a.id, &a, &u->e));
	OK(ctl_plan_allowance(u->c, u->a.id, &a, &u->e));
	assert_int_equal(a.most.of[LIMIT_PIDS], 512);
}

static void a_plan_that_is_not_there_is_not_given(void **state)
{
	struct unit *u = *state;
	struct ctl_allowance a;

	OK(ctl_plan_allowance(u->c, u->a.id, &a, &u->e));
	memcpy(a.plan, "nope", 5);
	a.own.of[LIMIT_PIDS] = 99;
	FAILS(ctl_plan_allow(u->c, u->a.id, &a, &u->e), ERR_NOT_FOUND);
	OK(ctl_plan_allowance(u->c, u->a.id, &a, &u->e));
	assert_string_equal(a.plan, "default");
	assert_int_equal(a.most.of[LIMIT_PIDS], 512);
	FAILS(ctl_plan_allowance(u->c, "nobody", &a, &u->e), ERR_NOT_FOUND);
}

static void a_changed_plan_reaches_sandboxes_that_are_there(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	struct ctl_limits l;
	struct ctl_plan p;

	unit_sandbox(u, &u->a, "box", &s);
	assert_int_equal(s.limits.of[LIMIT_MEMORY], 1 << 28);
	assert_int_equal(s.limits.of[LIMIT_CPU], 1000);
	OK(ctl_plan_get(u->c, "default", &p, &u->e));
	p.limits.of[LIMIT_MEMORY] = 1 << 26;
	p.limits.of[LIMIT_CPU] = 2000;
	OK(ctl_plan_set(u->c, &p, &u->e));
	OK(ctl_sandbox_limits(u->c, s.id, &l, &u->e));
	assert_int_equal(l.of[LIMIT_MEMORY], 1 << 26);
	assert_int_equal(l.of[LIMIT_CPU], 2000);
	assert_int_equal(l.of[LIMIT_PIDS], 128);
	FAILS(ctl_sandbox_limits(u->c, "nope", &l, &u->e), ERR_NOT_FOUND);
}

static void a_plan_says_every_limit(void **state)
{
	struct unit *u = *state;
	struct ctl_plan p, q;

	OK(ctl_plan_get(u->c, "default", &p, &u->e));
	memcpy(p.name, "new", 4);
	for (int i = 0; i < LIMIT_ALL; i++) {
		q = p;
		q.limits.of[i] = 0;
		FAILS(ctl_plan_add(u->c, &q, &u->e), ERR_ARG);
		assert_non_null(strstr(u->e.text, ctl_limit_table[i].name));
	}
	q = p;
	q.net.policy[0] = '\0';
	FAILS(ctl_plan_add(u->c, &q, &u->e), ERR_ARG);
	q = p;
	memcpy(q.name, "-x", 3);
	FAILS(ctl_plan_add(u->c, &q, &u->e), ERR_ARG);
}

static void two_tmpfs_leave_a_quarter_of_the_memory(void **state)
{
	struct ctl_limits asked = {{0}}, most = {{0}}, out;

	(void)state;
	most.of[LIMIT_MEMORY] = 1 << 30;
	most.of[LIMIT_TMP] = 1 << 28;
	ctl_limits_within(&asked, &most, &out);
	assert_int_equal(out.of[LIMIT_TMP], 1 << 28);
	asked.of[LIMIT_MEMORY] = 64 << 20;
	ctl_limits_within(&asked, &most, &out);
	assert_int_equal(out.of[LIMIT_TMP], 24 << 20);
}

static void holds(const char *own_policy, const char *own_allow,
		  const char *most_allow, struct ctl_net *out)
{
	struct ctl_net own = {.deny = "10.0.0.0/8"};
	struct ctl_net most = {.policy = "internet", .deny = "11.0.0.0/8"};

	memcpy(own.policy, own_policy, strlen(own_policy) + 1);
	memcpy(own.allow, own_allow, strlen(own_allow) + 1);
	memcpy(most.allow, most_allow, strlen(most_allow) + 1);
	ctl_net_within(&own, &most, out);
}

static void a_sandbox_reaches_only_what_both_allow(void **state)
{
	struct ctl_net n;

	(void)state;
	holds("", "", "", &n);
	assert_string_equal(n.policy, "none");
	holds("internet", "", "", &n);
	assert_string_equal(n.policy, "internet");
	assert_string_equal(n.allow, "");
	assert_string_equal(n.deny, "10.0.0.0/8 11.0.0.0/8");
	holds("internet", "", "1.0.0.0/8", &n);
	assert_string_equal(n.allow, "1.0.0.0/8");
	holds("internet", "1.2.0.0/16 9.9.9.9", "1.0.0.0/8", &n);
	assert_string_equal(n.allow, "1.2.0.0/16");
	/* Nothing in common must not become everything. */
	holds("internet", "9.9.9.9", "1.0.0.0/8", &n);
	assert_string_equal(n.policy, "none");
}

static void the_operators_texts_are_checked(void **state)
{
	static const char *const bad[] = {"pids",
					  "pids=",
					  "pids=x",
					  "pids=-1",
					  "pids=15",
					  "pids=1Z",
					  "pids=1KK",
					  "pids=65537",
					  "sandboxes=0",
					  "nope=1",
					  "network=lan",
					  "allow=x",
					  "deny=10.0.0.1/8",
					  "memoryBytes=99999999999999999999",
					  "memoryBytes=9999999T",
					  "=1",
					  "wallMs=1000000000"};
	struct unit *u = *state;
	struct ctl_limits l = {{0}};
	struct ctl_net n = {.policy = ""};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (ctl_limits_parse(bad[i], &l, &n, &u->e) != ERR_ARG)
			fail_msg("%s", bad[i]);
	parse(u, "memoryBytes=512M", &l, &n);
	assert_int_equal(l.of[LIMIT_MEMORY], 512 << 20);
	parse(u, "memoryBytes=16777217", &l, &n);
	assert_int_equal(l.of[LIMIT_MEMORY], 16 << 20);
	parse(u, "deny=10.0.0.0/8,192.0.2.1", &l, &n);
	assert_string_equal(n.deny, "10.0.0.0/8 192.0.2.1/32");
	parse(u, "deny=default", &l, &n);
	assert_string_equal(n.deny, "");
	for (int i = 0; i < LIMIT_ALL; i++)
		assert_true(ctl_limit_table[i].min > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(the_default_plan_fits_a_small_machine),
	    TEST(a_tenant_has_its_plans_limits_but_for_its_own),
	    TEST(a_plan_that_is_not_there_is_not_given),
	    TEST(a_changed_plan_reaches_sandboxes_that_are_there),
	    TEST(a_plan_says_every_limit),
	    TEST(two_tmpfs_leave_a_quarter_of_the_memory),
	    TEST(a_sandbox_reaches_only_what_both_allow),
	    TEST(the_operators_texts_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
