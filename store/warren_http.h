/* The public API as a client uses it, by libcurl. */
#ifndef STORE_WARREN_HTTP_H
#define STORE_WARREN_HTTP_H

#include <curl/curl.h>
#include <json-c/json.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"

/* One connection with one key. */
struct warren_http {
	CURL *curl;
	struct curl_slist *headers;
	char url[512];
};

struct warren_answer {
	long status;
	struct json_object *body; /* NULL when there is none */
};

/**
 * warren_http_open(h, url, key, e):
 * Names below localhost lead to this machine without a resolver.
 * Owns: close with warren_http_close(). Errors: ERR_ARG, ERR_NOMEM.
 */
FALLIBLE enum err warren_http_open(struct warren_http *h, const char *url,
				   const char *key, struct errinfo *e);
void warren_http_close(struct warren_http *h);

/**
 * warren_http_call(h, method, path, body, answer, e):
 * One exchange; ${body} may be NULL and stays the caller's. Any status is an
 * answer. Owns: ${answer}->body is the caller's: warren_answer_free().
 * Errors: ERR_IO (no answer), ERR_PEER (its body is no JSON).
 * Blocks: up to two minutes.
 */
FALLIBLE enum err warren_http_call(struct warren_http *h, const char *method,
				   const char *path, struct json_object *body,
				   struct warren_answer *answer,
				   struct errinfo *e);
void warren_answer_free(struct warren_answer *a);

/** warren_answer_text(a, key), warren_answer_int(a, key): A member of the
 * body; "" and -1 when it is not there. */
const char *warren_answer_text(const struct warren_answer *a, const char *key);
int64_t warren_answer_int(const struct warren_answer *a, const char *key);

/**
 * warren_http_burst(h, n, method, path_of, body, e):
 * ${n} calls of the same kind at once, each on a connection of its own; all
 * must be answered 2xx. ${path_of}(i, out, size) names the ith path.
 * Errors: ERR_IO, ERR_PEER (an answer that was no success: the first one).
 */
struct warren_burst {
	int n;
	const char *method;
	const char *body; /* JSON, or NULL */
	void (*path_of)(int i, char *out, size_t size);
};
FALLIBLE enum err warren_http_burst(struct warren_http *h,
				    const struct warren_burst *burst,
				    struct errinfo *e);

#endif
