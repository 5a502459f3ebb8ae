#include <json-c/json.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/bulk.h"
#include "fcgi/json_in.h"
#include "fcgi/json_text.h"
#include "fcgi/utf8.h"

#define JSON_IN_DEPTH_MAX 32

static enum err json_in_no(struct json_in *in, struct errinfo *e,
			   const char *field, const char *why)
{
	snprintf(in->field, sizeof(in->field), "%s", field);
	snprintf(in->why, sizeof(in->why), "%s", why);
	return err_set(e, ERR_ARG, 0, "json: %s: %s", field, why);
}

static enum err json_in_broken(struct json_in *in, struct errinfo *e,
			       const char *why)
{
	in->syntax = true;
	return json_in_no(in, e, "", why);
}

struct json_scan {
	bool text; /* inside a text */
	bool nul;  /* the last text had \u0000 in it */
	bool half; /* half of a surrogate pair was seen */
	size_t colons;
	size_t values; /* about how many */
};

/* The \uXXXX at p, or -1. */
static long json_in_escape(const char *p, size_t left)
{
	char hex[5] = {0};
	char *end;
	long v;

	if (left < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	memcpy(hex, p + 2, 4);
	v = strtol(hex, &end, 16);
	return end == hex + 4 && hex[0] != '-' && hex[0] != '+' ? v : -1;
}

/* One byte inside a text; how many further bytes it takes along. */
static size_t json_in_scan_text(struct json_scan *s, const char *p, size_t left)
{
	long v = json_in_escape(p, left), low;

	if (*p == '"')
		s->text = false;
	if (*p != '\\')
		return 0;
	if (v == 0)
		s->nul = true;
	if (v >= 0xdc00 && v <= 0xdfff)
		s->half = true;
	if (v < 0xd800 || v > 0xdbff)
		return 1;
	low = json_in_escape(p + 6, left - 6);
	if (low >= 0xdc00 && low <= 0xdfff)
		return 11;
	s->half = true;
	return 1;
}

/*
 * What the parser lets pass though it is not JSON, seen in the text; the
 * number of members of all objects in ${colons}. A key with NUL inside would
 * be cut short by the parser. More than ${max} values: each takes far more
 * memory than the text that it has here.
 */
static const char *json_in_scan(const char *p, size_t n, size_t max,
				size_t *colons)
{
	struct json_scan s = {0};

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (s.text && c >= 0x20 && c != '"' && c != '\\') {
			i += json_text_plain(p + i + 1, n - i - 1);
			continue;
		}
		if (s.text && c < 0x20)
			return "a text has a raw control byte in it";
		if (s.text) {
			i += json_in_scan_text(&s, p + i, n - i);
			continue;
		}
		if (c == 0 ||
		    strchr(" \t\r\n{}[],:\"0123456789+-.eEtrufalsn", c) == NULL)
			return "";
		if (c == ':' && s.nul)
			return "a key has NUL in it";
		s.colons += c == ':';
		s.values += c == ',' || c == '[' || c == '{';
		if (s.values > max)
			return "it has too many values";
		if (c == '"') {
			s.text = true;
			s.nul = false;
		}
	}
	*colons = s.colons;
	return s.half ? "a text has half a character in it" : NULL;
}

static size_t json_in_members(struct json_object *v)
{
	size_t n = 0;

	if (json_object_is_type(v, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(v); i++)
			n += json_in_members(json_object_array_get_idx(v, i));
	} else if (json_object_is_type(v, json_type_object)) {
		struct json_object_iterator it = json_object_iter_begin(v);
		struct json_object_iterator end = json_object_iter_end(v);

		for (; !json_object_iter_equal(&it, &end);
		     json_object_iter_next(&it))
			n += 1 +
			     json_in_members(json_object_iter_peek_value(&it));
	}
	return n;
}

/* What is no JSON in spite of what the parser says. */
static enum err json_in_check(struct json_in *in, const char *text, size_t n,
			      size_t *colons, struct errinfo *e)
{
	const char *bad;

	if (n > JSON_IN_TEXT_MAX)
		return json_in_broken(in, e, "it is too long");
	bad = json_in_scan(
	    text, n, in->values_max > 0 ? in->values_max : JSON_IN_VALUES_MAX,
	    colons);
	if (bad == NULL && !utf8_ok(text, n))
		bad = "it is not UTF-8";
	return bad != NULL ? json_in_broken(in, e, bad) : ERR_NONE;
}

static enum err json_in_tree(struct json_in *in, const char *text, size_t n,
			     size_t colons, struct errinfo *e)
{
	struct json_tokener *tok = json_tokener_new_ex(JSON_IN_DEPTH_MAX);
	enum json_tokener_error err;
	size_t used;

	if (tok == NULL)
		return err_set(e, ERR_NOMEM, 0, "json");
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	/* With its 0, so that a number at the end is seen to end. */
	in->root = json_tokener_parse_ex(tok, text, (int)n + 1);
	err = json_tokener_get_error(tok);
	used = json_tokener_get_parse_end(tok);
	json_tokener_free(tok);
	if (err != json_tokener_success || used < n)
		return json_in_broken(in, e,
				      err == json_tokener_error_depth
					  ? "it is nested too deep"
					  : "");
	if (!json_object_is_type(in->root, json_type_object))
		return json_in_no(in, e, "", "must be an object");
	if (json_in_members(in->root) != colons)
		return json_in_broken(in, e, "an object has a key twice");
	return ERR_NONE;
}

enum err json_in_parse(struct json_in *in, const char *text, size_t n,
		       struct errinfo *e)
{
	size_t colons;
	enum err r = json_in_check(in, text, n, &colons, e);

	return r == ERR_NONE ? json_in_tree(in, text, n, colons, e) : r;
}

enum err json_in_parse_body(struct json_in *in, struct buf *body,
			    struct errinfo *e)
{
	OWN(buf_free) struct buf rest = BUF_INIT(body->max_bytes + 16);
	size_t colons;
	enum err r = json_in_check(in, buf_str(body), body->len, &colons, e);

	if (r == ERR_NONE)
		r = json_in_lift(in, body, &rest, e);
	if (r == ERR_ARG && in->lifted.p != NULL)
		return json_in_broken(in, e, "");
	if (r != ERR_NONE)
		return r;
	if (in->lifted.p != NULL)
		return json_in_tree(in, rest.data, rest.len, colons, e);
	return json_in_tree(in, buf_str(body), body->len, colons, e);
}

static bool json_in_len_ok(const struct json_field *f, size_t n)
{
	return (int64_t)n >= f->min && (int64_t)n <= f->max;
}

static const char *json_in_text_of(struct json_object *v, size_t *n)
{
	*n = (size_t)json_object_get_string_len(v);
	return json_object_get_string(v);
}

static enum err json_in_base64(struct json_in *in, const struct json_field *f,
			       const struct json_blob *text, void *to,
			       struct errinfo *e)
{
	struct json_blob blob;
	const size_t n = text->n;
	OWN(own_mem) unsigned char *raw = NULL;
	char **grown;

	if (!json_in_len_ok(f, n / 4 * 3))
		return json_in_no(in, e, f->key, "is too long");
	raw = malloc(n / 4 * 3 + 4);
	if (raw == NULL)
		return err_set(e, ERR_NOMEM, 0, "base64");
	if (sodium_base642bin(raw, n / 4 * 3 + 3, text->p, n, "\r\n", &blob.n,
			      NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
		return json_in_no(in, e, f->key, "must be base64");
	raw[blob.n] = '\0';
	grown = realloc(in->owned, (in->nowned + 1) * sizeof(*grown));
	if (grown == NULL)
		return err_set(e, ERR_NOMEM, 0, "base64");
	in->owned = grown;
	blob.p = (char *)raw;
	in->owned[in->nowned++] = (char *)STEAL(raw);
	memcpy(to, &blob, sizeof(blob));
	return ERR_NONE;
}

static enum err json_in_blob(struct json_in *in, const struct json_field *f,
			     struct json_blob blob, void *to, struct errinfo *e)
{
	char why[96];

	if (f->kind == JSON_BASE64)
		return json_in_base64(in, f, &blob, to, e);
	if (!json_in_len_ok(f, blob.n) && blob.n == 0)
		return json_in_no(in, e, f->key, "must not be empty");
	if (!json_in_len_ok(f, blob.n)) {
		snprintf(why, sizeof(why), "must have %lld to %lld bytes",
			 (long long)f->min, (long long)f->max);
		return json_in_no(in, e, f->key, why);
	}
	if (f->kind == JSON_BLOB) {
		memcpy(to, &blob, sizeof(blob));
		return ERR_NONE;
	}
	if (strlen(blob.p) != blob.n)
		return json_in_no(in, e, f->key, "must not contain NUL");
	memcpy(to, &blob.p, sizeof(blob.p));
	return ERR_NONE;
}

static enum err json_in_text(struct json_in *in, const struct json_field *f,
			     struct json_object *v, void *to, struct errinfo *e)
{
	struct json_blob blob;

	if (!json_object_is_type(v, json_type_string))
		return json_in_no(in, e, f->key, "must be a text");
	blob.p = json_in_text_of(v, &blob.n);
	return json_in_blob(in, f, blob, to, e);
}

static enum err json_in_int(struct json_in *in, const struct json_field *f,
			    struct json_object *v, void *to, struct errinfo *e)
{
	int64_t i;
	char why[96];

	if (!json_object_is_type(v, json_type_int))
		return json_in_no(in, e, f->key, "must be an integer");
	i = json_object_get_int64(v);
	if (i < f->min || i > f->max) {
		snprintf(why, sizeof(why), "must be from %lld to %lld",
			 (long long)f->min, (long long)f->max);
		return json_in_no(in, e, f->key, why);
	}
	memcpy(to, &i, sizeof(i));
	return ERR_NONE;
}

static enum err json_in_texts(struct json_in *in, const struct json_field *f,
			      struct json_object *v, void *to,
			      struct errinfo *e)
{
	char why[96];

	if (!json_object_is_type(v, json_type_array))
		return json_in_no(in, e, f->key, "must be an array of texts");
	if (!json_in_len_ok(f, json_object_array_length(v))) {
		snprintf(why, sizeof(why), "must have %lld to %lld members",
			 (long long)f->min, (long long)f->max);
		return json_in_no(in, e, f->key, why);
	}
	for (size_t i = 0; i < json_object_array_length(v); i++) {
		struct json_object *m = json_object_array_get_idx(v, i);
		const char *s;
		size_t n;

		if (!json_object_is_type(m, json_type_string))
			return json_in_no(in, e, f->key,
					  "must be an array of texts");
		s = json_in_text_of(m, &n);
		if (strlen(s) != n)
			return json_in_no(in, e, f->key,
					  "must not contain NUL");
	}
	memcpy(to, &v, sizeof(v));
	return ERR_NONE;
}

static bool json_in_env_name_ok(const char *s)
{
	static const char more[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz_0123456789";
	size_t n = strlen(s);

	return n > 0 && n <= 256 && (s[0] < '0' || s[0] > '9') &&
	       strspn(s, more) == n;
}

static enum err json_in_env_check(struct json_in *in,
				  const struct json_field *f,
				  struct json_object *v, void *to,
				  struct errinfo *e)
{
	struct json_object_iterator it, end;

	if (!json_object_is_type(v, json_type_object))
		return json_in_no(in, e, f->key, "must be an object");
	it = json_object_iter_begin(v);
	end = json_object_iter_end(v);
	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		const char *name = json_object_iter_peek_name(&it), *s;
		struct json_object *m = json_object_iter_peek_value(&it);
		char field[sizeof(in->field)];
		size_t n;

		snprintf(field, sizeof(field), "%s.%.64s", f->key, name);
		if (name[0] == '\0')
			return json_in_no(in, e, f->key,
					  "has a variable without a name");
		if (!json_in_env_name_ok(name))
			return json_in_no(in, e, field,
					  "is not a variable's name");
		if (m == NULL)
			continue;
		if (!json_object_is_type(m, json_type_string))
			return json_in_no(in, e, field,
					  "must be a text or null");
		s = json_in_text_of(m, &n);
		if (strlen(s) != n)
			return json_in_no(in, e, field, "must not contain NUL");
		if (strlen(name) + 1 + n >= JSON_ENV_ENTRY_MAX)
			return json_in_no(in, e, field,
					  "is too long: it and its name may "
					  "have 131070 bytes");
	}
	memcpy(to, &v, sizeof(v));
	return ERR_NONE;
}

static enum err json_in_one(struct json_in *in, const struct json_field *f,
			    struct json_object *v, void *out, struct errinfo *e)
{
	void *to = (char *)out + f->offset;
	bool b;

	switch (f->kind) {
	case JSON_TEXT:
	case JSON_BLOB:
	case JSON_BASE64:
		return json_in_text(in, f, v, to, e);
	case JSON_INT:
		return json_in_int(in, f, v, to, e);
	case JSON_BOOL:
		if (!json_object_is_type(v, json_type_boolean))
			return json_in_no(in, e, f->key,
					  "must be true or false");
		b = json_object_get_boolean(v) != 0;
		memcpy(to, &b, sizeof(b));
		return ERR_NONE;
	case JSON_TEXTS:
		return json_in_texts(in, f, v, to, e);
	case JSON_ENV:
		return json_in_env_check(in, f, v, to, e);
	case JSON_OBJECT:
		if (!json_object_is_type(v, json_type_object))
			return json_in_no(in, e, f->key, "must be an object");
		memcpy(to, &v, sizeof(v));
		return ERR_NONE;
	case JSON_ANY:
		memcpy(to, &v, sizeof(v));
		return ERR_NONE;
	case JSON_SKIP:
		return ERR_NONE;
	}
	return err_set(e, ERR_ARG, 0, "field table");
}

static bool json_in_known(const struct json_field *fields, size_t n,
			  const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(fields[i].key, key) == 0 ||
		    (fields[i].alias != NULL &&
		     strcmp(fields[i].alias, key) == 0))
			return true;
	return false;
}

static bool json_in_lifts(const struct json_in *in, const struct json_field *f)
{
	return in->lifted.p != NULL && strcmp(f->key, in->lift) == 0;
}

enum err json_in_read_obj(struct json_in *in, struct json_object *obj,
			  const struct json_field *fields, size_t n, void *out,
			  struct errinfo *e)
{
	struct json_object_iterator it = json_object_iter_begin(obj);
	struct json_object_iterator end = json_object_iter_end(obj);

	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		const char *key = json_object_iter_peek_name(&it);
		char shown[sizeof(in->field)];

		snprintf(shown, sizeof(shown), "%.64s", key);
		if (!json_in_known(fields, n, key))
			return json_in_no(in, e, shown, "is not known here");
	}
	for (size_t i = 0; i < n; i++) {
		const struct json_field *f = &fields[i];
		struct json_field said = *f; /* as the caller spelled it */
		struct json_object *v = json_object_object_get(obj, f->key);
		struct json_object *alias =
		    f->alias != NULL ? json_object_object_get(obj, f->alias)
				     : NULL;
		bool lifted = obj == in->root && json_in_lifts(in, f);
		enum err r;

		if ((v != NULL || lifted) && alias != NULL)
			return json_in_no(in, e, f->key,
					  "is given in two spellings");
		if (v == NULL && alias != NULL) {
			v = alias;
			said.key = f->alias;
		}
		if (v == NULL && !lifted && f->needed)
			return json_in_no(in, e, f->key, "is needed");
		if (v == NULL && !lifted)
			continue;
		r = lifted ? json_in_blob(in, f, in->lifted,
					  (char *)out + f->offset, e)
			   : json_in_one(in, &said, v, out, e);
		if (r != ERR_NONE)
			return r;
	}
	return ERR_NONE;
}

enum err json_in_read(struct json_in *in, const struct json_field *fields,
		      size_t n, void *out, struct errinfo *e)
{
	return json_in_read_obj(in, in->root, fields, n, out, e);
}

void json_in_free(struct json_in *in)
{
	if (in == NULL)
		return;
	json_object_put(in->root);
	for (size_t i = 0; i < in->nowned; i++)
		free(in->owned[i]);
	free(in->owned);
	bulk_give(&in->body);
	*in = (struct json_in){0};
}

void json_in_env_free(char **env, uint32_t n)
{
	for (uint32_t i = 0; env != NULL && i < n; i++)
		free(env[i]);
	free(env);
}

/* "NAME=value", or "NAME" for null; NULL: no memory. */
static char *env_entry(const char *name, struct json_object *v)
{
	char *s;

	if (v == NULL)
		return strdup(name);
	if (asprintf(&s, "%s=%s", name, json_object_get_string(v)) < 0)
		return NULL;
	return s;
}

static enum err env_list(struct json_object *obj, bool nulls, char ***out,
			 uint32_t *n, struct errinfo *e)
{
	struct json_object_iterator it, end;
	char **env;
	uint32_t used = 0;

	if (obj == NULL) {
		*out = NULL;
		*n = 0;
		return ERR_NONE;
	}
	env = calloc((size_t)json_object_object_length(obj) + 1, sizeof(*env));
	if (env == NULL)
		return err_set(e, ERR_NOMEM, 0, "env");
	it = json_object_iter_begin(obj);
	end = json_object_iter_end(obj);
	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		struct json_object *v = json_object_iter_peek_value(&it);

		if (v == NULL && !nulls)
			continue;
		env[used] = env_entry(json_object_iter_peek_name(&it), v);
		if (env[used] == NULL) {
			json_in_env_free(env, used);
			return err_set(e, ERR_NOMEM, 0, "env");
		}
		used++;
	}
	*out = env;
	*n = used;
	return ERR_NONE;
}

enum err json_in_env(struct json_object *obj, char ***out, uint32_t *n,
		     struct errinfo *e)
{
	return env_list(obj, false, out, n, e);
}

enum err json_in_env_nulls(struct json_object *obj, char ***out, uint32_t *n,
			   struct errinfo *e)
{
	return env_list(obj, true, out, n, e);
}
