#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/sandbox_limit.h"

_Static_assert(2 * CIDR_LIST_MAX <= BROKER_CIDRS_MAX, "both lists fit");

/* ---- what is asked for ---- */

/* How high is for the tenant's own limits to say. */
static const struct json_field limit_fields[] = {
#define X(name, json, column, min, max)                                        \
	{json,                                                                 \
	 NULL,                                                                 \
	 JSON_INT,                                                             \
	 offsetof(struct ctl_limits, of) + LIMIT_##name * sizeof(int64_t),     \
	 false,                                                                \
	 min,                                                                  \
	 INT64_MAX},
    CTL_LIMITS(X)
#undef X
};

enum err sandbox_limit_read(struct request *rq, struct json_object *limits,
			    struct ctl_limits *out, struct errinfo *e)
{
	struct ctl_limits got = {{0}};
	char field[sizeof(rq->body.field) + 8];
	enum err r = ERR_NONE;

	if (limits != NULL)
		r = json_in_read_obj(&rq->body, limits, limit_fields,
				     JSON_COUNT(limit_fields), &got, e);
	if (r == ERR_ARG) {
		snprintf(field, sizeof(field), "limits.%s", rq->body.field);
		return err_http_field(rq, e, field, rq->body.why);
	}
	if (r != ERR_NONE)
		return r;
	got.of[LIMIT_MEMORY] = got.of[LIMIT_MEMORY] / 4096 * 4096;
	*out = got;
	return ERR_NONE;
}

static enum err limit_list(struct request *rq, const char *field,
			   struct json_object *texts, char *out,
			   struct errinfo *e)
{
	struct cidr_list l = {.n = 0};
	size_t n = texts != NULL ? json_object_array_length(texts) : 0;

	for (size_t i = 0; i < n; i++) {
		struct json_object *v = json_object_array_get_idx(texts, i);
		const char *text = json_object_get_string(v);
		struct cidr c;

		if (!cidr_parse(text, strlen(text), &c))
			return err_http_field(
			    rq, e, field,
			    "must hold ranges of IPv4 addresses such as "
			    "192.0.2.0/24");
		if (!cidr_list_add(&l, &c))
			break;
	}
	if (n > CTL_NET_RANGES_MAX)
		return err_http_field(rq, e, field, "has too many ranges");
	cidr_list_text(&l, out);
	return ERR_NONE;
}

enum err sandbox_limit_net(struct request *rq, const struct sandbox_net_want *w,
			   struct ctl_net *out, struct errinfo *e)
{
	struct ctl_net n = {.policy = ""};
	enum err r;

	if (w->policy != NULL && strcmp(w->policy, "none") != 0 &&
	    strcmp(w->policy, "internet") != 0)
		return err_http_field(rq, e, "network",
				      "must be none or internet");
	if (w->policy != NULL)
		snprintf(n.policy, sizeof(n.policy), "%s", w->policy);
	r = limit_list(rq, "networkAllow", w->allow, n.allow, e);
	if (r == ERR_NONE)
		r = limit_list(rq, "networkDeny", w->deny, n.deny, e);
	if (r != ERR_NONE)
		return r;
	/* Who sends a list believes that there is a network. */
	if (strcmp(n.policy, "internet") != 0 &&
	    (n.allow[0] != '\0' || n.deny[0] != '\0'))
		return err_http_field(
		    rq, e, n.allow[0] != '\0' ? "networkAllow" : "networkDeny",
		    "needs \"network\": \"internet\": there is none without");
	*out = n;
	return ERR_NONE;
}

/* ---- whether the tenant may ---- */

static enum err limit_over(struct request *rq, const char *name, int64_t limit,
			   const char *why, struct errinfo *e)
{
	char field[48], text[128];

	json_out_int(err_http_context(rq), "limit", limit);
	snprintf(field, sizeof(field), "limits.%s", name);
	snprintf(text, sizeof(text), "must be at most %lld%s", (long long)limit,
		 why);
	return err_http_field(rq, e, field, text);
}

static enum err limit_check_net(struct request *rq, const struct ctl_net *asked,
				const struct ctl_net *most, struct errinfo *e)
{
	struct cidr_list a, b;
	enum err r;

	if (strcmp(asked->policy, "internet") == 0 &&
	    strcmp(most->policy, "internet") != 0) {
		err_http_text(rq, "limit", most->policy);
		return err_http_field(rq, e, "network",
				      "must be none for this tenant");
	}
	r = cidr_list_parse(asked->allow, &a, e);
	if (r == ERR_NONE)
		r = cidr_list_parse(most->allow, &b, e);
	if (r != ERR_NONE || b.n == 0 || cidr_list_within(&a, &b))
		return r;
	err_http_text(rq, "limit", most->allow);
	return err_http_field(rq, e, "networkAllow",
			      "must be within what the tenant may reach");
}

enum err sandbox_limit_check(struct request *rq,
			     const struct ctl_sandbox_spec *spec,
			     const struct ctl_allowance *a, struct errinfo *e)
{
	const struct ctl_limits *asked = &spec->limits;
	struct ctl_limits holds;
	int64_t tmp_max;

	for (int i = 0; i < LIMIT_COUNT; i++)
		if (asked->of[i] > a->most.of[i])
			return limit_over(rq, ctl_limit_table[i].name,
					  a->most.of[i], " for this tenant", e);
	ctl_limits_within(asked, &a->most, &holds);
	tmp_max = ctl_limits_tmp_max(holds.of[LIMIT_MEMORY]);
	if (asked->of[LIMIT_TMP] > tmp_max)
		return limit_over(rq, ctl_limit_table[LIMIT_TMP].name, tmp_max,
				  ": /tmp and /dev/shm are of memoryBytes, and "
				  "programs need some too",
				  e);
	return limit_check_net(rq, &spec->net, &a->most_net, e);
}

/* ---- how it is shown ---- */

static void limit_put_list(struct json_out *o, const char *key,
			   const char *text)
{
	json_out_array(o, key);
	while (text[0] != '\0') {
		size_t n = strcspn(text, " ");

		json_out_textn(o, NULL, text, n);
		text += n;
		text += strspn(text, " ");
	}
	json_out_end(o);
}

void sandbox_limit_put(struct json_out *o, const struct ctl_sandbox *s)
{
	json_out_object(o, "limits");
	for (int i = 0; i < LIMIT_COUNT; i++)
		json_out_int(o, ctl_limit_table[i].name, s->limits.of[i]);
	json_out_end(o);
	json_out_text(o, "network", s->net.policy);
	limit_put_list(o, "networkAllow", s->net.allow);
	limit_put_list(o, "networkDeny", s->net.deny);
}

/* ---- as the broker takes it ---- */

static uint16_t limit_start_list(const char *text, struct broker_cidr *out)
{
	struct cidr_list l;

	/* What was read from a row is a list. */
	must(cidr_list_parse(text, &l, NULL) == ERR_NONE);
	for (size_t i = 0; i < l.n; i++)
		out[i] = (struct broker_cidr){.addr = l.of[i].addr,
					      .prefix = l.of[i].prefix};
	return (uint16_t)l.n;
}

void sandbox_limit_start(const struct ctl_sandbox *s, struct broker_req *req)
{
	const int64_t *of = s->limits.of;

	req->memory_bytes = (uint64_t)of[LIMIT_MEMORY] / 4096 * 4096;
	req->cpu_millis = (uint32_t)of[LIMIT_CPU];
	req->pids = (uint32_t)of[LIMIT_PIDS];
	req->disk_bytes = (uint64_t)of[LIMIT_DISK];
	req->inodes = (uint32_t)of[LIMIT_INODES];
	req->cpu_weight = (uint32_t)of[LIMIT_CPU_WEIGHT];
	req->open_files = (uint32_t)of[LIMIT_OPEN_FILES];
	req->file_bytes = (uint64_t)of[LIMIT_FILE_SIZE];
	req->tmp_bytes = (uint64_t)of[LIMIT_TMP];
	if (strcmp(s->net.policy, "internet") != 0)
		return;
	req->network = BROKER_NET_INTERNET;
	req->ndeny = limit_start_list(s->net.deny, req->cidrs);
	req->nallow = limit_start_list(s->net.allow, req->cidrs + req->ndeny);
}
