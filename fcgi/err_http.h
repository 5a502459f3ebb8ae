/*
 * How a failure is told to the tenant. A function that fails leaves what to
 * say in the request and returns an error; all callers hand the error on; the
 * one place that calls the handler answers. Never a path or errno of the host.
 */
#ifndef FCGI_ERR_HTTP_H
#define FCGI_ERR_HTTP_H

#include "base/err.h"
#include "fcgi/json_out.h"

struct request;

enum http_code {
	HTTP_CODE_NONE = 0,
#define CODE(name, status, suggestion) HTTP_##name,
#include "fcgi/wire_codes.def"
#undef CODE
};

struct failure {
	enum http_code code; /* HTTP_CODE_NONE: nothing failed */
	char message[512];
	char operation[32];      /* "file.read", …; "" for none */
	unsigned retry_after;    /* seconds; 0: no such header */
	const char *suggestion;  /* NULL: the code's own */
	struct json_out context; /* an open object; built when first used */
};

/**
 * err_http_fail(rq, e, code, fmt, ...):
 * Note that ${rq} fails with ${code} and the text for the tenant.
 * Returns an error (never ERR_NONE) for the handler to hand on:
 *
 *	err_http_text(rq, "processId", id);
 *	return err_http_fail(rq, e, HTTP_PROCESS_NOT_FOUND,
 *			     "Process %s not found", id);
 */
enum err err_http_fail(struct request *rq, struct errinfo *e,
		       enum http_code code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/** err_http_field(rq, e, field, why): VALIDATION_FAILED naming a field;
 * ${why} goes on where "${field} " begins a sentence: "must be a text". */
enum err err_http_field(struct request *rq, struct errinfo *e,
			const char *field, const char *why);

/** err_http_text(rq, key, s): A member of the failure's context. */
void err_http_text(struct request *rq, const char *key, const char *s);

/** err_http_context(rq): The context object, open, to add other members. */
struct json_out *err_http_context(struct request *rq);

/** err_http_suggest(rq, s): What to do about it; ${s} is a constant. */
void err_http_suggest(struct request *rq, const char *s);

/** err_http_forget(rq): It goes another way: nothing has failed. */
void err_http_forget(struct request *rq);

/** err_http_operation(rq, op): "file.read", "process.start", … */
void err_http_operation(struct request *rq, const char *op);

/**
 * err_http_answer(rq, r, e):
 * Answer with the noted failure, or with what ${r} maps to when there is
 * none (and log it). After an answer began: only log.
 */
void err_http_answer(struct request *rq, enum err r, const struct errinfo *e);

/**
 * err_http_put(rq, r, e, o):
 * The members that such an answer has into the open object ${o}, for a stream
 * that tells its failure itself.
 */
void err_http_put(struct request *rq, enum err r, const struct errinfo *e,
		  struct json_out *o);

/** err_http_of(r): The code that stands for a bare error. */
enum http_code err_http_of(enum err r);

/** err_http_name(code): "PROCESS_NOT_FOUND", … */
const char *err_http_name(enum http_code code);

/** err_http_status(code): 404, … */
int err_http_status(enum http_code code);

#endif
