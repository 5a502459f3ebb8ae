#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/code_result.h"
#include "fcgi/exec_tell.h"
#include "fcgi/share.h"

#define EVENT_JSON_MAX (8U * MIB)

static enum err exec_tell_data(struct exec_tell *t, uint64_t id,
			       enum event_kind kind, const char *p, size_t n,
			       int64_t unix_ms, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(EVENT_JSON_MAX);

	json_out_object(&o, NULL);
	json_out_text(&o, "type", kind == EVENT_OUT ? "stdout" : "stderr");
	if (t->base64)
		json_out_base64(&o, "data", p, n);
	else
		json_out_textn(&o, "data", p, n);
	if (t->process_id != NULL)
		json_out_text(&o, "processId", t->process_id);
	json_out_time(&o, "timestamp", unix_ms);
	json_out_end(&o);
	return sse_send(&t->sse, id, &o, e);
}

enum err exec_tell_chunk(struct exec_tell *t, const struct keeper_event *ev,
			 struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(ev->len * 3 + 8);

	if (t->base64)
		return exec_tell_data(t, ev->seq, ev->kind, ev->data, ev->len,
				      ev->unix_ms, e);
	utf8_decode(&t->part[ev->kind == EVENT_ERR], ev->data, ev->len, &b);
	if (!buf_ok(&b))
		return err_set(e, ERR_NOMEM, 0, "chunk");
	if (b.len == 0)
		return ERR_NONE;
	return exec_tell_data(t, ev->seq, ev->kind, b.data, b.len, ev->unix_ms,
			      e);
}

static enum err exec_tell_words(struct exec_tell *t,
				const struct keeper_event *ev,
				struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(256U * MIB);
	struct json_in in = {.values_max = CODE_RESULT_VALUES_MAX};
	const char *type = ev->kind == EVENT_RESULT  ? "result"
			   : ev->kind == EVENT_ERROR ? "error"
						     : "done";

	if (json_in_parse(&in, ev->data, ev->len, e) != ERR_NONE) {
		json_in_free(&in);
		return ERR_NONE;
	}
	json_out_object(&o, NULL);
	json_out_text(&o, "type", type);
	json_out_value(&o, "data", in.root);
	json_out_time(&o, "timestamp", ev->unix_ms);
	json_out_end(&o);
	json_in_free(&in);
	return sse_send(&t->sse, ev->seq, &o, e);
}

enum err exec_tell_json(struct exec_tell *t, const struct keeper_event *ev,
			struct errinfo *e)
{
	struct request *rq = t->sse.rq;
	size_t before = rq->held_bytes;
	enum err r = share_wait(rq, before + 3 * ev->len, e);

	if (r == ERR_NONE)
		r = exec_tell_words(t, ev, e);
	share_back(rq, before);
	return r;
}

enum err exec_tell_gap(struct exec_tell *t, uint64_t from, uint64_t to,
		       struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);
	enum err r = exec_tell_rest(t, e);

	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_text(&o, "type", "gap");
	json_out_int(&o, "from", (int64_t)from);
	json_out_int(&o, "to", (int64_t)to);
	json_out_int(&o, "dropped", (int64_t)(to - from + 1));
	if (t->process_id != NULL)
		json_out_text(&o, "processId", t->process_id);
	json_out_now(&o);
	json_out_end(&o);
	return sse_send(&t->sse, to, &o, e);
}

enum err exec_tell_encoding(struct request *rq, struct exec_tell *t,
			    struct errinfo *e)
{
	char enc[16] = "utf-8";

	(void)route_query(rq, "encoding", enc, sizeof(enc));
	t->base64 = strcmp(enc, "base64") == 0;
	if (!t->base64 && strcmp(enc, "utf-8") != 0 && strcmp(enc, "utf8") != 0)
		return err_http_field(rq, e, "encoding",
				      "must be utf-8 or base64");
	return ERR_NONE;
}

enum err exec_tell_rest(struct exec_tell *t, struct errinfo *e)
{
	enum err r = ERR_NONE;

	for (int i = 0; r == ERR_NONE && i < 2; i++) {
		OWN(buf_free) struct buf b = BUF_INIT(16);

		utf8_end(&t->part[i], &b);
		if (b.len > 0)
			r = exec_tell_text(t, i == 0 ? EVENT_OUT : EVENT_ERR,
					   buf_str(&b), e);
	}
	return r;
}

enum err exec_tell_text(struct exec_tell *t, enum event_kind kind,
			const char *text, struct errinfo *e)
{
	return exec_tell_data(t, 0, kind, text, strlen(text), clock_unix_ms(),
			      e);
}

void exec_tell_timed_out(int64_t ms, char *out, size_t n)
{
	snprintf(out, n, "Command timed out after %lldms\n", (long long)ms);
}

int exec_exit_code(enum end_reason reason, int exit_code)
{
	return reason == END_TIMED_OUT ? EXIT_TIMED_OUT : exit_code;
}
