/* What a sandbox asks for, against what its tenant may have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "base/own.h"
#include "fcgi/exec_hits.h"
#include "fcgi/sandbox_limit.h"

struct asked {
	struct request rq;
	struct ctl_sandbox_spec spec;
	struct ctl_allowance a;
	struct errinfo e;
};

static int set_up(void **state)
{
	struct asked *x = calloc(1, sizeof(*x));

	if (x == NULL)
		return -1;
	for (int i = 0; i < LIMIT_COUNT; i++)
		x->a.most.of[i] = ctl_limit_table[i].max / 2;
	x->a.most.of[LIMIT_MEMORY] = 1 << 30;
	x->a.most.of[LIMIT_TMP] = 1 << 28;
	memcpy(x->a.most_net.policy, "internet", 9);
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct asked *x = *state;

	json_in_free(&x->rq.body);
	json_out_free(&x->rq.failure.context);
	free(x);
	return 0;
}

/* Read and check a body; what is noted stays in the request. */
static enum err ask(struct asked *x, const char *text)
{
	struct sandbox_net_want w = {.policy = NULL};
	struct json_object *o, *limits = NULL;
	enum err r;

	json_in_free(&x->rq.body);
	json_out_free(&x->rq.failure.context);
	x->rq.failure = (struct failure){.code = HTTP_CODE_NONE};
	assert_int_equal(json_in_parse(&x->rq.body, text, strlen(text), &x->e),
			 ERR_NONE);
	json_object_object_get_ex(x->rq.body.root, "limits", &limits);
	if (json_object_object_get_ex(x->rq.body.root, "network", &o))
		w.policy = json_object_get_string(o);
	json_object_object_get_ex(x->rq.body.root, "networkAllow", &w.allow);
	json_object_object_get_ex(x->rq.body.root, "networkDeny", &w.deny);
	r = sandbox_limit_read(&x->rq, limits, &x->spec.limits, &x->e);
	if (r == ERR_NONE)
		r = sandbox_limit_net(&x->rq, &w, &x->spec.net, &x->e);
	if (r == ERR_NONE)
		r = sandbox_limit_check(&x->rq, &x->spec, &x->a, &x->e);
	return r;
}

static void refused(struct asked *x, const char *text, const char *field)
{
	size_t n = strlen(field);

	if (ask(x, text) == ERR_NONE)
		fail_msg("%s", text);
	assert_int_equal(x->rq.failure.code, HTTP_VALIDATION_FAILED);
	if (strncmp(x->rq.failure.message, field, n) != 0 ||
	    x->rq.failure.message[n] != ' ')
		fail_msg("%s: %s", text, x->rq.failure.message);
}

static void what_is_not_given_is_the_tenants(void **state)
{
	struct asked *x = *state;

	assert_int_equal(ask(x, "{}"), ERR_NONE);
	for (int i = 0; i < LIMIT_COUNT; i++)
		assert_int_equal(x->spec.limits.of[i], 0);
	assert_string_equal(x->spec.net.policy, "");
}

static void as_much_as_the_tenant_has_is_given(void **state)
{
	struct asked *x = *state;

	for (int i = 0; i < LIMIT_COUNT; i++) {
		char text[128];

		if (i == LIMIT_TMP) /* is of the memory */
			continue;
		snprintf(text, sizeof(text), "{\"limits\":{\"%s\":%lld}}",
			 ctl_limit_table[i].name, (long long)x->a.most.of[i]);
		assert_int_equal(ask(x, text), ERR_NONE);
		assert_int_equal(x->spec.limits.of[i], x->a.most.of[i]);
	}
}

static void more_is_refused_with_the_limit(void **state)
{
	struct asked *x = *state;

	for (int i = 0; i < LIMIT_COUNT; i++) {
		char text[128], field[64], limit[64];

		snprintf(text, sizeof(text), "{\"limits\":{\"%s\":%lld}}",
			 ctl_limit_table[i].name,
			 (long long)x->a.most.of[i] + 4096);
		snprintf(field, sizeof(field), "limits.%s",
			 ctl_limit_table[i].name);
		snprintf(limit, sizeof(limit), "{\"limit\":%lld,",
			 (long long)x->a.most.of[i]);
		refused(x, text, field);
		assert_memory_equal(buf_str(&x->rq.failure.context.b), limit,
				    strlen(limit));
	}
}

static void what_is_no_limit_is_refused(void **state)
{
	struct asked *x = *state;

	refused(x, "{\"limits\":{\"pids\":0}}", "limits.pids");
	refused(x, "{\"limits\":{\"pids\":-9}}", "limits.pids");
	refused(x, "{\"limits\":{\"pids\":1.5}}", "limits.pids");
	refused(x, "{\"limits\":{\"pids\":\"20\"}}", "limits.pids");
	refused(x, "{\"limits\":{\"pids\":99999999999999999999}}",
		"limits.pids");
	refused(x, "{\"limits\":{\"swap\":1}}", "limits.swap");
	refused(x,
		"{\"limits\":{\"memoryBytes\":67108864,\"tmpBytes\":33554432}}",
		"limits.tmpBytes");
}

static void memory_is_whole_pages(void **state)
{
	struct asked *x = *state;

	assert_int_equal(ask(x, "{\"limits\":{\"memoryBytes\":67108865}}"),
			 ERR_NONE);
	assert_int_equal(x->spec.limits.of[LIMIT_MEMORY], 64 << 20);
}

static void the_network_is_within_the_tenants(void **state)
{
	struct asked *x = *state;

	assert_int_equal(
	    ask(x, "{\"network\":\"internet\",\"networkAllow\":[\"8.8.8.8\"],"
		   "\"networkDeny\":[\"10.0.0.0/8\",\"11.0.0.0/8\"]}"),
	    ERR_NONE);
	assert_string_equal(x->spec.net.allow, "8.8.8.8/32");
	assert_string_equal(x->spec.net.deny, "10.0.0.0/8 11.0.0.0/8");
	refused(x, "{\"network\":\"lan\"}", "network");
	refused(x, "{\"networkAllow\":[\"8.8.8.8/8\"]}", "networkAllow");
	refused(x, "{\"networkDeny\":[\"host.example\"]}", "networkDeny");
	memcpy(x->a.most_net.allow, "8.0.0.0/8", 10);
	assert_int_equal(ask(x, "{\"network\":\"internet\",\"networkAllow\":"
				"[\"8.8.8.8\"]}"),
			 ERR_NONE);
	refused(x,
		"{\"network\":\"internet\",\"networkAllow\":[\"8.8.8.8\","
		"\"9.9.9.9\"]}",
		"networkAllow");
	memcpy(x->a.most_net.policy, "none", 5);
	refused(x, "{\"network\":\"internet\"}", "network");
	assert_int_equal(ask(x, "{\"network\":\"none\"}"), ERR_NONE);
}

static void lists_without_a_network_are_refused(void **state)
{
	struct asked *x = *state;

	refused(x, "{\"networkDeny\":[\"8.8.8.8\"]}", "networkDeny");
	refused(x, "{\"networkAllow\":[\"8.8.8.8\"]}", "networkAllow");
	refused(x, "{\"network\":\"none\",\"networkDeny\":[\"8.8.8.8\"]}",
		"networkDeny");
	assert_int_equal(ask(x, "{\"network\":\"none\",\"networkDeny\":[]}"),
			 ERR_NONE);
}

static void too_many_ranges_are_refused(void **state)
{
	struct asked *x = *state;
	char text[1024] = "{\"networkDeny\":[\"10.0.0.1\"";

	for (int i = 0; i < CTL_NET_RANGES_MAX; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 ",\"10.0.1.%d\"", i);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "]}");
	refused(x, text, "networkDeny");
}

static void a_start_carries_all_of_it(void **state)
{
	struct ctl_sandbox s = {.labels = NULL};
	struct broker_req req = {.type = BROKER_START};

	(void)state;
	for (int i = 0; i < LIMIT_COUNT; i++)
		s.limits.of[i] = i + 5000;
	memcpy(s.net.policy, "internet", 9);
	memcpy(s.net.allow, "8.8.8.8/32", 11);
	memcpy(s.net.deny, "10.0.0.0/8 11.0.0.0/8", 22);
	sandbox_limit_start(&s, &req);
	assert_int_equal(req.memory_bytes, 4096);
	assert_int_equal(req.cpu_millis, 5000 + LIMIT_CPU);
	assert_int_equal(req.cpu_weight, 5000 + LIMIT_CPU_WEIGHT);
	assert_int_equal(req.pids, 5000 + LIMIT_PIDS);
	assert_int_equal(req.disk_bytes, 5000 + LIMIT_DISK);
	assert_int_equal(req.inodes, 5000 + LIMIT_INODES);
	assert_int_equal(req.open_files, 5000 + LIMIT_OPEN_FILES);
	assert_int_equal(req.file_bytes, 5000 + LIMIT_FILE_SIZE);
	assert_int_equal(req.tmp_bytes, 5000 + LIMIT_TMP);
	assert_int_equal(req.network, BROKER_NET_INTERNET);
	assert_int_equal(req.ndeny, 2);
	assert_int_equal(req.nallow, 1);
	assert_int_equal(req.cidrs[1].addr, 11U << 24);
	assert_int_equal(req.cidrs[2].prefix, 32);
	memcpy(s.net.policy, "none", 5);
	req = (struct broker_req){.type = BROKER_START};
	sandbox_limit_start(&s, &req);
	assert_int_equal(req.network + req.ndeny + req.nallow, 0);
}

static void hits_are_told_by_name(void **state)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(4096);
	struct keeper_hits h = {0};

	(void)state;
	json_out_object(&o, NULL);
	exec_hits_put(&o, &h);
	h.of[HIT_PIDS] = (struct keeper_hit){40, 40, 7, 7};
	h.of[HIT_DISK] = (struct keeper_hit){UINT64_MAX, 0, 1, 1};
	exec_hits_put(&o, &h);
	json_out_end(&o);
	assert_string_equal(
	    buf_str(&o.b),
	    "{\"limits\":[{\"name\":\"pids\",\"limit\":40,\"used\":40,"
	    "\"hits\":7},{\"name\":\"diskBytes\","
	    "\"limit\":9223372036854775807,\"hits\":1}]}");
}

#define ASK(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    ASK(what_is_not_given_is_the_tenants),
	    ASK(as_much_as_the_tenant_has_is_given),
	    ASK(more_is_refused_with_the_limit),
	    ASK(what_is_no_limit_is_refused),
	    ASK(memory_is_whole_pages),
	    ASK(the_network_is_within_the_tenants),
	    ASK(lists_without_a_network_are_refused),
	    ASK(too_many_ranges_are_refused),
	    cmocka_unit_test(a_start_carries_all_of_it),
	    cmocka_unit_test(hits_are_told_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
