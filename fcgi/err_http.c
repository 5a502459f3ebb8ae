#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/err_http.h"
#include "fcgi/route.h"

#define CONTEXT_MAX (256U * KIB)
#define ANSWER_MAX (512U * KIB)

struct code_row {
	const char *name;
	int status;
	const char *suggestion;
};

static const struct code_row code_rows[] = {
    {"UNKNOWN_ERROR", 500, NULL},
#define CODE(name, status, suggestion) {#name, status, suggestion},
#include "fcgi/wire_codes.def"
#undef CODE
};

const char *err_http_name(enum http_code code)
{
	return code_rows[code].name;
}

int err_http_status(enum http_code code)
{
	return code_rows[code].status;
}

enum http_code err_http_of(enum err r)
{
	switch (r) {
	case ERR_ARG:
		return HTTP_BAD_REQUEST;
	case ERR_NOT_FOUND:
		return HTTP_NOT_FOUND;
	case ERR_EXISTS:
		return HTTP_RESOURCE_BUSY;
	case ERR_LIMIT:
		return HTTP_LIMIT_EXCEEDED;
	case ERR_STATE:
		return HTTP_RESOURCE_BUSY;
	case ERR_DENIED:
		return HTTP_PERMISSION_DENIED;
	case ERR_NOMEM:
		return HTTP_OVERLOADED;
	case ERR_TIMEOUT:
		return HTTP_SANDBOX_UNAVAILABLE;
	case ERR_PEER:
	case ERR_GONE:
		return HTTP_SANDBOX_GONE;
	case ERR_NONE:
	case ERR_IO:
	case ERR_STORE:
		return HTTP_INTERNAL_ERROR;
	}
	return HTTP_INTERNAL_ERROR;
}

/* The error that a code is handed on as. */
static enum err err_http_back(enum http_code code)
{
	int status = err_http_status(code);

	if (status == 404)
		return ERR_NOT_FOUND;
	if (status == 401 || status == 403)
		return ERR_DENIED;
	if (status == 409)
		return ERR_EXISTS;
	if (status == 413 || status == 429)
		return ERR_LIMIT;
	return status < 500 ? ERR_ARG : ERR_IO;
}

/* What is said when only a bare error is known. */
static const char *err_http_plain(enum err r)
{
	switch (r) {
	case ERR_ARG:
		return "A value is not allowed";
	case ERR_NOT_FOUND:
		return "No such thing";
	case ERR_EXISTS:
		return "It exists already";
	case ERR_LIMIT:
		return "A limit is reached";
	case ERR_STATE:
		return "Not possible in the present state";
	case ERR_DENIED:
		return "Not permitted";
	case ERR_NOMEM:
		return "The service is short of memory";
	case ERR_TIMEOUT:
		return "The sandbox did not answer in time";
	case ERR_PEER:
	case ERR_GONE:
		return "The sandbox ended while the call ran";
	case ERR_NONE:
	case ERR_IO:
	case ERR_STORE:
		return "The service failed";
	}
	return "The service failed";
}

struct json_out *err_http_context(struct request *rq)
{
	struct json_out *o = &rq->failure.context;

	if (o->b.max_bytes == 0) {
		json_out_init(o, CONTEXT_MAX);
		json_out_object(o, NULL);
	}
	return o;
}

void err_http_text(struct request *rq, const char *key, const char *s)
{
	json_out_text(err_http_context(rq), key, s);
}

void err_http_suggest(struct request *rq, const char *s)
{
	rq->failure.suggestion = s;
}

void err_http_forget(struct request *rq)
{
	struct failure *f = &rq->failure;

	json_out_free(&f->context);
	f->context = (struct json_out){.b = {.max_bytes = 0}};
	f->code = HTTP_CODE_NONE;
	f->suggestion = NULL;
	f->retry_after = 0;
}

void err_http_operation(struct request *rq, const char *op)
{
	snprintf(rq->failure.operation, sizeof(rq->failure.operation), "%s",
		 op);
}

enum err err_http_fail(struct request *rq, struct errinfo *e,
		       enum http_code code, const char *fmt, ...)
{
	va_list ap;

	rq->failure.code = code;
	va_start(ap, fmt);
	vsnprintf(rq->failure.message, sizeof(rq->failure.message), fmt, ap);
	va_end(ap);
	return err_set(e, err_http_back(code), 0, "%s", rq->failure.message);
}

enum err err_http_field(struct request *rq, struct errinfo *e,
			const char *field, const char *why)
{
	struct json_out *o = err_http_context(rq);

	json_out_array(o, "validationErrors");
	json_out_object(o, NULL);
	json_out_text(o, "field", field);
	json_out_text(o, "message", why);
	json_out_text(o, "code", "invalid");
	json_out_end(o);
	json_out_end(o);
	return err_http_fail(rq, e, HTTP_VALIDATION_FAILED, "%s %s", field,
			     why);
}

/* The context as it was built, or an empty object. */
static const char *err_http_context_text(struct request *rq)
{
	struct json_out *o = &rq->failure.context;

	if (o->b.max_bytes == 0)
		return "{}";
	while (o->depth > 0)
		json_out_end(o);
	return json_out_ok(o) ? buf_str(&o->b) : "{}";
}

/* Clients of the wire look there for what became of code. */
static bool err_http_is_code(const struct request *rq)
{
	const char *at = rq->route != NULL ? rq->route->pattern : "";

	return strstr(at, "/api/contexts") != NULL ||
	       strstr(at, "/api/execute/code") != NULL ||
	       strstr(at, "/api/interpreter/") != NULL;
}

static void err_http_members(struct request *rq, struct json_out *o)
{
	struct failure *f = &rq->failure;
	const struct code_row *row = &code_rows[f->code];
	const char *suggestion = f->suggestion != NULL ? f->suggestion
						       : row->suggestion;

	json_out_text(o, "code", row->name);
	json_out_text(o, "message", f->message);
	if (err_http_is_code(rq))
		json_out_text(o, "error", f->message);
	json_out_raw(o, "context", err_http_context_text(rq));
	if (f->operation[0] != '\0')
		json_out_text(o, "operation", f->operation);
	json_out_int(o, "httpStatus", row->status);
	json_out_now(o);
	json_out_text(o, "requestId", rq->id);
	if (suggestion != NULL)
		json_out_text(o, "suggestion", suggestion);
}

/* A bare error: said in its own words, and logged. */
static void err_http_complete(struct request *rq, enum err r,
			      const struct errinfo *e)
{
	if (rq->failure.code != HTTP_CODE_NONE)
		return;
	log_line(LOG_WARN, "%s %s: %s: %s (%d)", rq->id,
		 rq->route != NULL ? rq->route->pattern : "-", err_name(r),
		 e->text, e->sys);
	(void)err_http_fail(rq, NULL, err_http_of(r), "%s", err_http_plain(r));
}

void err_http_put(struct request *rq, enum err r, const struct errinfo *e,
		  struct json_out *o)
{
	err_http_complete(rq, r, e);
	err_http_members(rq, o);
}

void err_http_answer(struct request *rq, enum err r, const struct errinfo *e)
{
	struct failure *f = &rq->failure;
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(ANSWER_MAX);
	struct errinfo ignored;

	/* Who went away is answered nothing and is no news. */
	if (rq->broken)
		return;
	err_http_complete(rq, r, e);
	if (rq->answering)
		return;
	if (f->retry_after > 0 || err_http_status(f->code) == 503)
		answer_header(rq, "Retry-After", "%u",
			      f->retry_after > 0 ? f->retry_after : 1);
	json_out_object(&o, NULL);
	err_http_members(rq, &o);
	json_out_end(&o);
	if (answer_json(rq, err_http_status(f->code), &o, &ignored) != ERR_NONE)
		answer_empty(rq, err_http_status(f->code));
}
