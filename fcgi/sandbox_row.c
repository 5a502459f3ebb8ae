#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/duration.h"
#include "fcgi/image.h"
#include "fcgi/life.h"
#include "fcgi/sandbox_link.h"
#include "fcgi/sandbox_row.h"

#define AT(member) offsetof(struct sandbox_want, member)
#define LIFE_FIELDS(type, at)                                                  \
	{"sleepAfter", NULL, JSON_TEXT, offsetof(type, at.sleep_after),        \
	 false,        1,    32},                                              \
	    {"stopAfter", NULL, JSON_TEXT, offsetof(type, at.stop_after),      \
	     false,       1,    32},                                           \
	    {"deleteAfter", NULL, JSON_TEXT, offsetof(type, at.delete_after),  \
	     false,         1,    32},                                         \
	{                                                                      \
		"keepAlive", NULL, JSON_BOOL, offsetof(type, at.keep_alive),   \
		    false, 0, 0                                                \
	}

static const struct json_field want_fields[] = {
    {"name", NULL, JSON_TEXT, AT(name), true, 1, 4096},
    {"image", NULL, JSON_TEXT, AT(image), false, 1, 4096},
    {"user", NULL, JSON_TEXT, AT(user), false, 1, 4096},
    {"env", "env_vars", JSON_ENV, AT(env), false, 0, 0},
    {"labels", NULL, JSON_OBJECT, AT(labels), false, 0, 0},
    {"limits", NULL, JSON_OBJECT, AT(limits), false, 0, 0},
    {"network", NULL, JSON_TEXT, AT(net.policy), false, 0, 4096},
    {"networkAllow", NULL, JSON_TEXTS, AT(net.allow), false, 0, 1000},
    {"networkDeny", NULL, JSON_TEXTS, AT(net.deny), false, 0, 1000},
    LIFE_FIELDS(struct sandbox_want, life),
};

#undef AT

static const struct json_field change_fields[] = {
    {"labels", NULL, JSON_OBJECT, offsetof(struct sandbox_change, object),
     false, 0, 0},
    LIFE_FIELDS(struct sandbox_change, life),
};

static enum err want_names(struct request *rq, struct sandbox_want *w,
			   struct errinfo *e)
{
	if (!id_text_ok(w->name) || id_sandbox_ok(w->name))
		return err_http_field(rq, e, "name",
				      "must be 1 to 128 of A-Z a-z 0-9 . _ -, "
				      "starting with none of . -, and not "
				      "have the form of an id");
	if (w->image != NULL && !image_there(rq, w->image))
		return image_unknown(rq, e);
	if (w->user != NULL && strcmp(w->user, "root") != 0 &&
	    strcmp(w->user, "sandbox") != 0)
		return err_http_field(rq, e, "user", "must be root or sandbox");
	return ERR_NONE;
}

static enum err life_time(struct request *rq, const char *field,
			  const char *text, int64_t *ms, struct errinfo *e)
{
	*ms = -1;
	if (text == NULL || duration_parse(text, ms))
		return ERR_NONE;
	return err_http_field(rq, e, field,
			      "must be a duration such as 90s or 10m, or 0s "
			      "for never");
}

static enum err life_times(struct request *rq, struct life_want *w,
			   struct errinfo *e)
{
	struct ctl_life_change *c = &w->change;
	enum err r;

	c->keep_alive = w->keep_alive;
	if (json_object_object_get(rq->body.root, "keepAlive") == NULL)
		c->keep_alive = -1;
	r = life_time(rq, "sleepAfter", w->sleep_after, &c->sleep_after_ms, e);
	if (r == ERR_NONE)
		r = life_time(rq, "stopAfter", w->stop_after, &c->stop_after_ms,
			      e);
	if (r == ERR_NONE)
		r = life_time(rq, "deleteAfter", w->delete_after,
			      &c->delete_after_ms, e);
	return r;
}

static void life_over(const struct ctl_life_change *c, struct ctl_life *life)
{
	if (c->sleep_after_ms >= 0)
		life->sleep_after_ms = c->sleep_after_ms;
	if (c->stop_after_ms >= 0)
		life->stop_after_ms = c->stop_after_ms;
	if (c->delete_after_ms >= 0)
		life->delete_after_ms = c->delete_after_ms;
	if (c->keep_alive >= 0)
		life->keep_alive = c->keep_alive != 0;
}

static bool life_same(const struct ctl_life_change *c,
		      const struct ctl_life *life)
{
	struct ctl_life as = *life;

	life_over(c, &as);
	return as.sleep_after_ms == life->sleep_after_ms &&
	       as.stop_after_ms == life->stop_after_ms &&
	       as.delete_after_ms == life->delete_after_ms &&
	       as.keep_alive == life->keep_alive;
}

static enum err want_labels(struct request *rq, struct json_object *labels,
			    struct errinfo *e)
{
	struct json_object_iterator it, end;

	if (labels == NULL)
		return ERR_NONE;
	it = json_object_iter_begin(labels);
	end = json_object_iter_end(labels);
	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		struct json_object *v = json_object_iter_peek_value(&it);

		if (!json_object_is_type(v, json_type_string) ||
		    strlen(json_object_get_string(v)) !=
			(size_t)json_object_get_string_len(v))
			return err_http_field(rq, e, "labels",
					      "must hold texts only");
	}
	if (strlen(json_object_to_json_string_ext(
		labels, JSON_C_TO_STRING_PLAIN)) > CTL_SANDBOX_LABELS_MAX)
		return err_http_field(rq, e, "labels", "are too long");
	return ERR_NONE;
}

/* No more than the tenant's; what holds of it is what a row will say. */
static enum err want_limits(struct request *rq, struct sandbox_want *w,
			    struct errinfo *e)
{
	struct ctl_allowance a;
	enum err r = sandbox_limit_read(rq, w->limits, &w->spec.limits, e);

	if (r == ERR_NONE)
		r = sandbox_limit_net(rq, &w->net, &w->spec.net, e);
	if (r == ERR_NONE)
		r = ctl_plan_allowance(rq->store, rq->auth.tenant, &a, e);
	if (r == ERR_NONE)
		r = sandbox_limit_check(rq, &w->spec, &a, e);
	if (r != ERR_NONE)
		return r;
	ctl_limits_within(&w->spec.limits, &a.most, &w->holds);
	ctl_net_within(&w->spec.net, &a.most_net, &w->net_holds);
	return ERR_NONE;
}

/* The texts stay those of json-c's objects, which live with the request. */
static void want_spec(struct sandbox_want *w)
{
	struct ctl_sandbox_spec *s = &w->spec;

	if (w->image != NULL)
		s->image = w->image;
	if (w->user != NULL)
		s->user = w->user;
	if (w->labels != NULL)
		s->labels = json_object_to_json_string_ext(
		    w->labels, JSON_C_TO_STRING_PLAIN);
	if (w->env != NULL)
		s->env = json_object_to_json_string_ext(w->env,
							JSON_C_TO_STRING_PLAIN);
	life_over(&w->life.change, &s->life);
}

enum err sandbox_row_want(struct request *rq, struct sandbox_want *w,
			  struct errinfo *e)
{
	enum err r;

	*w = (struct sandbox_want){.name = NULL};
	r = body_json(rq, want_fields, JSON_COUNT(want_fields), w, e);
	link_default(&w->spec, w->name);
	if (r == ERR_NONE)
		r = want_names(rq, w, e);
	if (r == ERR_NONE)
		r = life_times(rq, &w->life, e);
	if (r == ERR_NONE)
		r = want_labels(rq, w->labels, e);
	if (r == ERR_NONE)
		r = want_limits(rq, w, e);
	if (r != ERR_NONE)
		return r;
	want_spec(w);
	return ERR_NONE;
}

enum err sandbox_row_change(struct request *rq, struct sandbox_change *c,
			    struct errinfo *e)
{
	enum err r;

	*c = (struct sandbox_change){.labels = NULL};
	r = body_json(rq, change_fields, JSON_COUNT(change_fields), c, e);
	if (r == ERR_NONE)
		r = life_times(rq, &c->life, e);
	if (r == ERR_NONE)
		r = want_labels(rq, c->object, e);
	if (r != ERR_NONE)
		return r;
	if (c->object != NULL)
		c->labels = json_object_to_json_string_ext(
		    c->object, JSON_C_TO_STRING_PLAIN);
	return ERR_NONE;
}

/* Two JSON objects as texts are equal whatever the order of their members. */
static bool row_same_object(struct json_object *want, const char *has)
{
	struct json_object *o;
	bool same;

	if (want == NULL)
		return true;
	o = json_tokener_parse(has != NULL && has[0] != '\0' ? has : "{}");
	same = o != NULL && json_object_equal(want, o) != 0;
	json_object_put(o);
	return same;
}

static bool row_same_limits(const struct sandbox_want *w,
			    const struct ctl_sandbox *s)
{
	for (int i = 0; i < LIMIT_COUNT; i++)
		if (w->spec.limits.of[i] > 0 &&
		    w->holds.of[i] != s->limits.of[i])
			return false;
	return (w->net.policy == NULL ||
		strcmp(w->net_holds.policy, s->net.policy) == 0) &&
	       (w->net.allow == NULL ||
		strcmp(w->net_holds.allow, s->net.allow) == 0) &&
	       (w->net.deny == NULL ||
		strcmp(w->net_holds.deny, s->net.deny) == 0);
}

bool sandbox_row_same(const struct sandbox_want *w, const struct ctl_sandbox *s)
{
	return row_same_limits(w, s) &&
	       (w->image == NULL || strcmp(w->image, s->image) == 0) &&
	       (w->user == NULL || strcmp(w->user, s->user) == 0) &&
	       row_same_object(w->labels, s->labels) &&
	       row_same_object(w->env, s->env) &&
	       life_same(&w->life.change, &s->life);
}

static void row_labels(struct json_out *o, const struct ctl_sandbox *s)
{
	struct json_object *labels = NULL;

	if (s->labels != NULL && s->labels[0] == '{')
		labels = json_tokener_parse(s->labels);
	if (labels == NULL) {
		json_out_object(o, "labels");
		json_out_end(o);
		return;
	}
	json_out_value(o, "labels", labels);
	json_object_put(labels);
}

static void row_duration(struct json_out *o, const char *key, int64_t ms)
{
	char text[32];

	duration_show(ms, text, sizeof(text));
	json_out_text(o, key, text);
}

/* What is not set is null; but for sleepAfter, which always is: "0s". */
static void row_life(struct json_out *o, const struct ctl_life *life)
{
	row_duration(o, "sleepAfter", life->sleep_after_ms);
	if (life->stop_after_ms > 0)
		row_duration(o, "stopAfter", life->stop_after_ms);
	else
		json_out_null(o, "stopAfter");
	if (life->delete_after_ms > 0)
		row_duration(o, "deleteAfter", life->delete_after_ms);
	else
		json_out_null(o, "deleteAfter");
	json_out_bool(o, "keepAlive", life->keep_alive);
}

void sandbox_row_put(const struct request *rq, struct json_out *o,
		     const char *key, const struct ctl_sandbox *s)
{
	struct life now;
	int64_t due;

	life_look(rq, s, &now);
	due = ctl_life_due(&s->life, now.state, now.used_ms);
	json_out_object(o, key);
	json_out_text(o, "id", s->id);
	json_out_text(o, "name", s->name);
	json_out_text(o, "state", ctl_sandbox_state_name(now.state));
	json_out_text(o, "image", s->image);
	json_out_text(o, "user", s->user);
	row_labels(o, s);
	sandbox_limit_put(o, s);
	json_out_time(o, "createdAt", s->created_ms);
	json_out_time(o, "lastActiveAt", now.used_ms);
	if (due > 0)
		json_out_time(o, "expiresAt", due);
	else
		json_out_null(o, "expiresAt");
	row_life(o, &s->life);
	json_out_end(o);
}

enum err sandbox_row_answer(struct request *rq, int status, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(1U * MIB);

	sandbox_row_put(rq, &o, NULL, &rq->sandbox);
	return answer_json(rq, status, &o, e);
}
