#include <stdio.h>
#include <string.h>

#include "store/warren_attempt.h"

#define ATTEMPT_LIMIT_MS 30000
#define GUEST_DIR "/tmp/selftest"

enum attempt_sort { ATTEMPT_REFUSED, ATTEMPT_OOM };

struct attempt {
	const char *name;
	enum attempt_sort sort;
	const char *what;
};

static const struct attempt attempts[] = {
#define ATTEMPT(name, sort, what) {#name, ATTEMPT_##sort, what},
#include "store/warren_attempt.def"
#undef ATTEMPT
};

#define ATTEMPTS (sizeof(attempts) / sizeof(attempts[0]))

static enum err attempt_bad(const struct warren_answer *a, const char *what,
			    struct errinfo *e)
{
	return err_set(e, ERR_PEER, 0, "%s: answered %ld: %.120s", what,
		       a->status, warren_answer_text(a, "message"));
}

/* One call that must succeed, its body made of texts and one number. */
static enum err attempt_exec(struct warren_http *h, const char *sandbox,
			     const char *command, struct warren_answer *a,
			     struct errinfo *e)
{
	OWN(warren_answer_free)
	struct warren_answer body = {.body = json_object_new_object()};
	char path[256];

	snprintf(path, sizeof(path), "/v1/sandboxes/%s/api/execute", sandbox);
	if (body.body == NULL)
		return err_set(e, ERR_NOMEM, 0, "body");
	json_object_object_add(body.body, "command",
			       json_object_new_string(command));
	json_object_object_add(body.body, "sessionId",
			       json_object_new_string("__DISABLE_SESSION__"));
	json_object_object_add(body.body, "timeoutMs",
			       json_object_new_int(ATTEMPT_LIMIT_MS));
	return warren_http_call(h, "POST", path, body.body, a, e);
}

static enum err attempt_create(struct warren_http *h, const char *sandbox,
			       struct errinfo *e)
{
	OWN(warren_answer_free) struct warren_answer body = {.body = NULL};
	OWN(warren_answer_free) struct warren_answer a = {.body = NULL};
	char text[256];
	enum err r;

	snprintf(text, sizeof(text),
		 "{\"name\":\"%s\",\"limits\":{\"memoryBytes\":%d,"
		 "\"pids\":%d}}",
		 sandbox, ATTEMPT_MEMORY_BYTES, ATTEMPT_PIDS);
	body.body = json_tokener_parse(text);
	if (body.body == NULL)
		return err_set(e, ERR_ARG, 0, "the sandbox's name");
	r = warren_http_call(h, "POST", "/v1/sandboxes", body.body, &a, e);
	if (r == ERR_NONE && a.status / 100 != 2)
		r = attempt_bad(&a, "create a sandbox", e);
	return r;
}

static enum err attempt_upload(struct warren_http *h, const char *sandbox,
			       const struct warren_guest *g, struct errinfo *e)
{
	OWN(warren_answer_free)
	struct warren_answer body = {.body = json_object_new_object()};
	OWN(warren_answer_free) struct warren_answer a = {.body = NULL};
	char path[256], file[128];
	enum err r;

	if (body.body == NULL)
		return err_set(e, ERR_NOMEM, 0, "body");
	snprintf(path, sizeof(path), "/v1/sandboxes/%s/api/write", sandbox);
	snprintf(file, sizeof(file), GUEST_DIR "/%s", g->name);
	json_object_object_add(body.body, "path", json_object_new_string(file));
	json_object_object_add(body.body, "content",
			       json_object_new_string(g->text));
	r = warren_http_call(h, "POST", path, body.body, &a, e);
	if (r == ERR_NONE && a.status / 100 != 2)
		r = attempt_bad(&a, g->name, e);
	return r;
}

static enum err attempt_prepare(struct warren_http *h, const char *sandbox,
				struct errinfo *e)
{
	OWN(warren_answer_free) struct warren_answer a = {.body = NULL};
	enum err r = attempt_create(h, sandbox, e);

	if (r == ERR_NONE)
		r = attempt_exec(h, sandbox, "mkdir -p " GUEST_DIR, &a, e);
	for (size_t i = 0; i < warren_guests_count && r == ERR_NONE; i++)
		r = attempt_upload(h, sandbox, &warren_guests[i], e);
	return r;
}

/* "" when the wall held, else what got through. */
static void attempt_judge(const struct attempt *t,
			  const struct warren_answer *a, char *why, size_t size)
{
	const char *reason = warren_answer_text(a, "reason");
	const char *out = warren_answer_text(a, "stdout");
	int64_t code = warren_answer_int(a, "exitCode");

	why[0] = '\0';
	if (a->status != 200)
		snprintf(why, size, "answered %ld: %s", a->status,
			 warren_answer_text(a, "message"));
	else if (t->sort == ATTEMPT_OOM && strcmp(reason, "out_of_memory") != 0)
		snprintf(why, size, "ended as %s instead of out_of_memory",
			 reason);
	else if (t->sort == ATTEMPT_REFUSED && code != 0)
		snprintf(why, size, "%s%s", out,
			 code == 1 ? "" : warren_answer_text(a, "stderr"));
	for (char *at = why; (at = strchr(at, '\n')) != NULL;)
		*at = at[1] == '\0' ? '\0' : ';';
}

/* After an attempt the sandbox must be as good as before. */
static enum err attempt_alive(struct warren_http *h, const char *sandbox,
			      char *why, size_t size, struct errinfo *e)
{
	OWN(warren_answer_free) struct warren_answer a = {.body = NULL};
	enum err r = attempt_exec(h, sandbox, "echo alive", &a, e);

	if (r == ERR_NONE &&
	    strcmp(warren_answer_text(&a, "stdout"), "alive\n") != 0)
		snprintf(why, size,
			 "the sandbox does not answer after it: "
			 "%ld %s",
			 a.status, warren_answer_text(&a, "message"));
	return r;
}

static enum err attempt_one(struct warren_http *h,
			    const struct attempt_place *p,
			    const struct attempt *t, struct check_list *l,
			    struct errinfo *e)
{
	OWN(warren_answer_free) struct warren_answer a = {.body = NULL};
	char command[512], why[CHECK_TEXT_MAX];
	const char *argument = "";
	char pids[16];
	enum err r;

	snprintf(pids, sizeof(pids), "%d", ATTEMPT_PIDS);
	if (strcmp(t->name, "host_files") == 0)
		argument = p->secret;
	else if (strcmp(t->name, "network") == 0)
		argument = p->port;
	else if (strcmp(t->name, "fork_bomb") == 0)
		argument = pids;
	snprintf(command, sizeof(command), "python3 " GUEST_DIR "/%s.py %s",
		 t->name, argument);
	r = attempt_exec(h, p->sandbox, command, &a, e);
	if (r != ERR_NONE)
		return r;
	attempt_judge(t, &a, why, sizeof(why));
	if (why[0] == '\0')
		r = attempt_alive(h, p->sandbox, why, sizeof(why), e);
	if (r == ERR_NONE)
		check_add(l, why[0] == '\0' ? CHECK_OK : CHECK_MISSING, t->name,
			  why, "%s", t->what);
	return r;
}

enum err warren_attempt_all(struct warren_http *h,
			    const struct attempt_place *place,
			    struct check_list *l, struct errinfo *e)
{
	enum err r = attempt_prepare(h, place->sandbox, e);

	for (size_t i = 0; i < ATTEMPTS && r == ERR_NONE; i++)
		r = attempt_one(h, place, &attempts[i], l, e);
	return r;
}

enum err warren_attempt_foreign(struct warren_http *h, const char *id,
				struct check_list *l, struct errinfo *e)
{
	static const struct {
		const char *method, *rest;
	} ways[] = {{"GET", ""},
		    {"GET", "/files/etc/passwd"},
		    {"GET", "/api/process/list"},
		    {"POST", "/api/execute"},
		    {"DELETE", ""}};
	char why[CHECK_TEXT_MAX] = "";
	enum err r = ERR_NONE;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		OWN(warren_answer_free)
		struct warren_answer body = {
		    .body = json_tokener_parse("{\"command\":\"true\"}")};
		OWN(warren_answer_free) struct warren_answer a = {.body = NULL};
		char path[128];

		snprintf(path, sizeof(path), "/v1/sandboxes/%s%s", id,
			 ways[i].rest);
		r = warren_http_call(
		    h, ways[i].method, path,
		    strcmp(ways[i].method, "POST") == 0 ? body.body : NULL, &a,
		    e);
		if (r != ERR_NONE)
			return r;
		if (a.status != 404)
			snprintf(why, sizeof(why), "%s of it answered %ld",
				 ways[i].method, a.status);
	}
	check_add(l, why[0] == '\0' ? CHECK_OK : CHECK_MISSING, "other_tenant",
		  why, "reaches another tenant's sandbox by its id");
	return ERR_NONE;
}
