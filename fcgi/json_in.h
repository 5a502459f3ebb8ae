/*
 * JSON in: one field table per request type. Stricter than the parser below
 * it: duplicate keys, single quotes, raw control bytes, NaN, comments, bad
 * UTF-8, integers out of range and NUL inside a text are refused, and the
 * refusal names the field.
 */
#ifndef FCGI_JSON_IN_H
#define FCGI_JSON_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct json_object;
struct request;

enum json_kind {
	JSON_TEXT,   /* const char *; min/max are bytes; no NUL inside */
	JSON_BLOB,   /* struct json_blob: text that may hold NUL */
	JSON_BASE64, /* struct json_blob: base64 text, here decoded */
	JSON_INT,    /* int64_t; min/max are values */
	JSON_BOOL,   /* bool */
	JSON_TEXTS,  /* struct json_object *: array of text without NUL;
			min/max are its length */
	JSON_ENV,    /* struct json_object *: {NAME: text or null} */
	JSON_OBJECT, /* struct json_object *: any object */
	JSON_ANY,    /* struct json_object *: the handler checks it */
	JSON_SKIP    /* public clients send it; it is ignored */
};

struct json_blob {
	const char *p; /* NULL when absent; else 0-terminated */
	size_t n;
};

/*
 * Where a field is absent (or null and not needed) its place in the struct
 * keeps the value it had: set defaults before reading. All that is read
 * belongs to the struct json_in and lives as long.
 */
struct json_field {
	const char *key;
	const char *alias; /* a second spelling, or NULL */
	enum json_kind kind;
	size_t offset;
	bool needed;
	int64_t min;
	int64_t max;
};

/* "NAME=value" and its end: what Linux takes as one text of an environment. */
#define JSON_ENV_ENTRY_MAX 131072U

#define JSON_IN_TEXT_MAX (256 << 20)
#define JSON_IN_VALUES_MAX 65536U

struct json_in {
	struct json_object *root;
	size_t values_max; /* 0: JSON_IN_VALUES_MAX */
	const char *lift;  /* a member that may be a long text, or NULL */
	struct buf body;   /* the text, if there is something lifted in it */
	struct json_blob lifted;
	char **owned; /* decoded base64 */
	size_t nowned;
	char field[96]; /* what the refusal is about; "" for the whole body */
	char why[160];  /* the refusal, for the tenant; "": just no JSON */
	bool syntax;    /* not JSON at all */
};

/**
 * json_in_parse(in, text, n, e):
 * Parse the ${n} bytes at ${text}, an object, into ${in} (all zero before, but
 * for values_max and lift).
 * Errors: ERR_ARG with field and why set; ERR_NOMEM.
 */
FALLIBLE enum err json_in_parse(struct json_in *in, const char *text, size_t n,
				struct errinfo *e);

/**
 * json_in_parse_body(in, body, e):
 * The same for a whole body. If the member in->lift is a long text it is not
 * copied: ${in} takes the memory of ${body}, which is empty then.
 */
FALLIBLE enum err json_in_parse_body(struct json_in *in, struct buf *body,
				     struct errinfo *e);

/**
 * json_in_lift(in, body, rest, e):
 * For json_in_parse_body(): what is left of ${body}, a text that was scanned,
 * with null for the one that was lifted, in ${rest}; "": nothing was.
 * Errors: ERR_ARG for a bad escape; ERR_NOMEM.
 */
FALLIBLE enum err json_in_lift(struct json_in *in, struct buf *body,
			       struct buf *rest, struct errinfo *e);

/**
 * json_in_read(in, fields, n, out, e):
 * Store the members of the parsed object into the struct at ${out} as the
 * table says. A key that is not in the table is refused.
 * Errors: ERR_ARG with field and why set; ERR_NOMEM.
 */
FALLIBLE enum err json_in_read(struct json_in *in,
			       const struct json_field *fields, size_t n,
			       void *out, struct errinfo *e);

/** json_in_read_obj(in, obj, …): The same for an object inside the body. */
FALLIBLE enum err json_in_read_obj(struct json_in *in, struct json_object *obj,
				   const struct json_field *fields, size_t n,
				   void *out, struct errinfo *e);

/** json_in_free(in): Free all; NULL and all-zero are fine. */
void json_in_free(struct json_in *in);

/**
 * json_in_env(obj, out, n, e):
 * The members of a JSON_ENV value (NULL: none) as "NAME=value" strings.
 * null values are left out; json_in_env_nulls() has "NAME" for them.
 * Owns: the caller frees with json_in_env_free.
 */
FALLIBLE enum err json_in_env(struct json_object *obj, char ***out, uint32_t *n,
			      struct errinfo *e);
FALLIBLE enum err json_in_env_nulls(struct json_object *obj, char ***out,
				    uint32_t *n, struct errinfo *e);
void json_in_env_free(char **env, uint32_t n);

#define JSON_COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))

#endif
