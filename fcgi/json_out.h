/* JSON out: objects built into a buffer, always valid UTF-8. */
#ifndef FCGI_JSON_OUT_H
#define FCGI_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct json_object;

#define JSON_OUT_DEPTH_MAX 64

/*
 * Every call takes the member's key, or NULL inside an array and at the top.
 * Errors are sticky in the buffer: build freely, check json_out_ok() once.
 */
struct json_out {
	struct buf b;
	uint64_t more;  /* bit n: level n has a member already */
	uint64_t array; /* bit n: level n is an array */
	unsigned depth;
};

/* OWN(json_out_free) struct json_out o = JSON_OUT_INIT(max); */
#define JSON_OUT_INIT(max)                                                     \
	{                                                                      \
		.b = BUF_INIT(max)                                             \
	}

/** json_out_init(o, max): Nothing yet; at most ${max} bytes of JSON. */
void json_out_init(struct json_out *o, size_t max_bytes);

/** json_out_free(o): Free; ${o} may be NULL or used again after init. */
void json_out_free(struct json_out *o);

/** json_out_object(o, key), _array: Open one; json_out_end(o) closes it. */
void json_out_object(struct json_out *o, const char *key);
void json_out_array(struct json_out *o, const char *key);
void json_out_end(struct json_out *o);

/** json_out_text(o, key, s): ${s} as text; bad bytes become U+FFFD. */
void json_out_text(struct json_out *o, const char *key, const char *s);
void json_out_textn(struct json_out *o, const char *key, const char *p,
		    size_t n);

/**
 * json_out_empty(o, key): The text "". What is put between its quotes later
 * goes before the byte that is returned. See answer_json_parts().
 */
size_t json_out_empty(struct json_out *o, const char *key);

/** json_out_base64(o, key, p, n): The exact bytes, as base64 text. */
void json_out_base64(struct json_out *o, const char *key, const void *p,
		     size_t n);

/** json_out_int(o, key, v), _bool, _null: One such value. */
void json_out_int(struct json_out *o, const char *key, int64_t v);
void json_out_bool(struct json_out *o, const char *key, bool v);
void json_out_null(struct json_out *o, const char *key);

/** json_out_time(o, key, unix_ms): ISO 8601 UTC with milliseconds. */
void json_out_time(struct json_out *o, const char *key, int64_t unix_ms);

/** json_out_now(o): "timestamp": now. */
void json_out_now(struct json_out *o);

/** json_out_value(o, key, v): A json-c value, written anew. */
void json_out_value(struct json_out *o, const char *key, struct json_object *v);

/** json_out_raw(o, key, json): ${json} is a value that json_out made. */
void json_out_raw(struct json_out *o, const char *key, const char *json);

/** json_out_ok(o): Nothing failed and everything opened was closed. */
bool json_out_ok(const struct json_out *o);

#endif
