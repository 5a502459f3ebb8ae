/*
 * What was refused to a sandbox. Of the system calls that its filter answers
 * with an error those of base/call_denial.def are among it.
 */
#include <stdio.h>

#include "base/broker_msg.h"
#include "base/call_denial.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/sandbox_link.h"
#include "store/node_denial.h"

#define LIST_JSON_MAX (1U * MIB)
#define BROKER_MS 3000

/* The setting that a refusal of the network's comes from. */
static const char *denial_policy(enum broker_denial d)
{
	if (d == BROKER_DENIAL_LISTED)
		return "networkDeny";
	if (d == BROKER_DENIAL_UNLISTED)
		return "networkAllow";
	return "network";
}

/* What the network's counters rose by is stored before it is told. */
static enum err denial_network(struct request *rq, struct errinfo *e)
{
	struct broker_denials got;
	enum err r = broker_denials(rq->worker->run_dir, rq->sandbox.id, &got,
				    clock_mono_ms() + BROKER_MS, e);

	if (r == ERR_NOT_FOUND) /* it does not run: all is stored, or lost */
		return ERR_NONE;
	for (int i = 0; r == ERR_NONE && i < (int)BROKER_DENIAL_COUNT; i++) {
		enum broker_denial kind = (enum broker_denial)i;
		struct node_denial d = {.count = got.of[i].packets,
					.last_ms = got.of[i].last_unix_ms};

		if (d.count == 0)
			continue;
		snprintf(d.what, sizeof(d.what), "%s",
			 broker_denial_word(kind));
		snprintf(d.policy, sizeof(d.policy), "%s", denial_policy(kind));
		r = node_denial_seen(rq->store, rq->sandbox.id, &d, e);
	}
	return r;
}

/* The same for system calls, which the keeper knows of. */
static enum err denial_calls(struct request *rq, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	struct wire_msg *m = NULL;
	struct call_counts got;
	enum err r = link_open(rq, LINK_LIVE, &l, e);

	if (r == ERR_GONE || r == ERR_NOT_FOUND)
		return ERR_NONE;
	if (r == ERR_NONE)
		r = link_call(&l, KM_CALLS, NULL, &m, e);
	if (r == ERR_NONE)
		r = call_counts_get(m, &got, e);
	for (int i = 0; r == ERR_NONE && i < CALL_COUNT; i++) {
		struct node_denial d = {.count = got.of[i].count,
					.last_ms = got.of[i].last_ms};

		if (d.count == 0)
			continue;
		snprintf(d.what, sizeof(d.what), "%s",
			 call_denial_word((enum call_denial)i));
		snprintf(d.policy, sizeof(d.policy), "seccomp");
		r = node_denial_seen(rq->store, rq->sandbox.id, &d, e);
	}
	return r;
}

enum err denial_list(struct request *rq, struct errinfo *e)
{
	OWN(node_denial_list_free) struct node_denial_list rows = {.n = 0};
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(LIST_JSON_MAX);
	struct errinfo why;
	enum err r = link_find(rq, e);

	if (r == ERR_NONE && denial_network(rq, &why) != ERR_NONE)
		log_err("refusals of the network", &why);
	if (r == ERR_NONE && denial_calls(rq, &why) != ERR_NONE)
		log_err("refused system calls", &why);
	if (r == ERR_NONE)
		r = node_denial_list(rq->store, rq->sandbox.id, &rows, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_array(&o, "denials");
	for (size_t i = 0; i < rows.n; i++) {
		json_out_object(&o, NULL);
		json_out_text(&o, "what", rows.rows[i].what);
		json_out_text(&o, "policy", rows.rows[i].policy);
		json_out_int(&o, "count", (int64_t)rows.rows[i].count);
		json_out_time(&o, "lastAt", rows.rows[i].last_ms);
		json_out_end(&o);
	}
	json_out_end(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}
