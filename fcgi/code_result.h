/*
 * What a kernel says of a run, in the shapes of the wire. A kernel is
 * tenant code: its JSON is parsed strictly and written anew, part by part;
 * a part of a wrong form is left out and named in metadata.dropped, so that
 * trouble with a chart never hides the picture.
 */
#ifndef FCGI_CODE_RESULT_H
#define FCGI_CODE_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/keeper_msg.h"
#include "fcgi/json_in.h"
#include "fcgi/json_out.h"

#define CODE_RESULT_JSON_MAX (64U << 20)
#define CODE_RESULT_ERROR_MAX (4U << 20)
#define CODE_RESULT_VALUES_MAX 2000000U
#define CODE_RESULT_LINES_MAX 10000

/* All zero before the first read; what it points to is its own. */
struct code_result {
	enum event_kind kind; /* EVENT_RESULT, EVENT_ERROR or EVENT_DONE */
	struct json_in in;
	struct buf wide;          /* the text, if it had to be changed */
	struct json_object *mime; /* RESULT: an object */
	struct json_object *chart;
	struct json_object *data;
	bool display;
	struct json_object *ename; /* ERROR: texts, and an array of texts */
	struct json_object *evalue;
	struct json_object *traceback;
	int64_t execution_count; /* DONE */
};

/**
 * code_result_read(r, kind, json, n, e):
 * Parse the data of an event of ${kind}. ${json} must live as long as ${r}
 * is used. Errors: ERR_PEER when it is malformed, too long or too deep;
 * ERR_NOMEM.
 */
FALLIBLE enum err code_result_read(struct code_result *r, enum event_kind kind,
				   const char *json, size_t n,
				   struct errinfo *e);

/**
 * code_result_put(r, o):
 * A RESULT's members into the open object: text, html, markdown, svg, png,
 * jpeg, pdf, latex, json, javascript, what is none of these under mime,
 * chart, data, metadata {display, dropped?}.
 */
void code_result_put(const struct code_result *r, struct json_out *o);

/**
 * code_result_put_error(r, name, message, o):
 * An ERROR's members into the open object, under the keys ${name} ("ename",
 * "name") and ${message} ("evalue", "message"), and traceback.
 */
void code_result_put_error(const struct code_result *r, const char *name,
			   const char *message, struct json_out *o);

/** code_result_free(r): Free; all-zero is fine and stays so. */
void code_result_free(struct code_result *r);

#endif
