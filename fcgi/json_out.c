#include <json-c/json.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "fcgi/json_out.h"
#include "fcgi/json_text.h"
#include "fcgi/utf8.h"

#define SHORT_MAX 128
#define DIGITS_MAX 20

void json_out_init(struct json_out *o, size_t max_bytes)
{
	*o = (struct json_out){.b = BUF_INIT(max_bytes)};
}

void json_out_free(struct json_out *o)
{
	if (o != NULL)
		buf_free(&o->b);
}

/* Keys, words, most names: text that is short and plain. True: it was put. */
static bool json_out_short(struct buf *b, const char *p, size_t n)
{
	char *to;

	if (n > SHORT_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			return false;
	}
	to = buf_space(b, n + 2);
	if (to == NULL)
		return true;
	to[0] = '"';
	if (n > 0)
		memcpy(to + 1, p, n);
	to[n + 1] = '"';
	buf_grow(b, n + 2);
	return true;
}

static void json_out_string(struct buf *b, const char *p, size_t n)
{
	if (json_out_short(b, p, n))
		return;
	buf_addc(b, '"');
	if (utf8_ok(p, n)) {
		json_text_escape(b, p, n);
	} else {
		struct buf good = BUF_INIT(3 * n + 3);
		struct utf8 u = {0};

		utf8_decode(&u, p, n, &good);
		utf8_end(&u, &good);
		if (!buf_ok(&good))
			b->failed = true;
		json_text_escape(b, buf_str(&good), good.len);
		buf_free(&good);
	}
	buf_addc(b, '"');
}

/* The comma before a member, and its key. */
static void json_out_key(struct json_out *o, const char *key)
{
	uint64_t bit = (uint64_t)1 << o->depth;

	if ((o->more & bit) != 0)
		buf_addc(&o->b, ',');
	o->more |= bit;
	must(o->depth == 0 || (key == NULL) == ((o->array & bit) != 0));
	if (key == NULL)
		return;
	json_out_string(&o->b, key, strlen(key));
	buf_addc(&o->b, ':');
}

static void json_out_open(struct json_out *o, const char *key, bool array)
{
	uint64_t bit;

	json_out_key(o, key);
	buf_addc(&o->b, array ? '[' : '{');
	must(o->depth < JSON_OUT_DEPTH_MAX - 1);
	o->depth++;
	bit = (uint64_t)1 << o->depth;
	o->more &= ~bit;
	if (array)
		o->array |= bit;
	else
		o->array &= ~bit;
}

void json_out_object(struct json_out *o, const char *key)
{
	json_out_open(o, key, false);
}

void json_out_array(struct json_out *o, const char *key)
{
	json_out_open(o, key, true);
}

void json_out_end(struct json_out *o)
{
	must(o->depth > 0);
	buf_addc(&o->b, ((o->array >> o->depth) & 1) != 0 ? ']' : '}');
	o->depth--;
}

void json_out_text(struct json_out *o, const char *key, const char *s)
{
	json_out_textn(o, key, s, strlen(s));
}

void json_out_textn(struct json_out *o, const char *key, const char *p,
		    size_t n)
{
	json_out_key(o, key);
	json_out_string(&o->b, p, n);
}

size_t json_out_empty(struct json_out *o, const char *key)
{
	json_out_key(o, key);
	buf_adds(&o->b, "\"\"");
	return o->b.len > 0 ? o->b.len - 1 : 0;
}

void json_out_base64(struct json_out *o, const char *key, const void *p,
		     size_t n)
{
	size_t room = sodium_base64_ENCODED_LEN(n,
						sodium_base64_VARIANT_ORIGINAL);
	char *to;

	json_out_key(o, key);
	buf_addc(&o->b, '"');
	to = buf_space(&o->b, room);
	if (to == NULL)
		return;
	sodium_bin2base64(to, room, p, n, sodium_base64_VARIANT_ORIGINAL);
	buf_grow(&o->b, room - 1);
	buf_addc(&o->b, '"');
}

void json_out_int(struct json_out *o, const char *key, int64_t v)
{
	char text[DIGITS_MAX + 1];
	char *at = text + sizeof(text);
	uint64_t left = v < 0 ? -(uint64_t)v : (uint64_t)v;

	json_out_key(o, key);
	do {
		*--at = (char)('0' + left % 10);
		left /= 10;
	} while (left > 0);
	if (v < 0)
		*--at = '-';
	buf_add(&o->b, at, (size_t)(text + sizeof(text) - at));
}

void json_out_bool(struct json_out *o, const char *key, bool v)
{
	json_out_key(o, key);
	buf_adds(&o->b, v ? "true" : "false");
}

void json_out_null(struct json_out *o, const char *key)
{
	json_out_key(o, key);
	buf_adds(&o->b, "null");
}

void json_out_time(struct json_out *o, const char *key, int64_t unix_ms)
{
	char iso[CLOCK_ISO_LEN + 1];

	clock_iso(unix_ms, iso);
	json_out_text(o, key, iso);
}

void json_out_now(struct json_out *o)
{
	json_out_time(o, "timestamp", clock_unix_ms());
}

static void json_out_members(struct json_out *o, struct json_object *v)
{
	struct json_object_iterator it = json_object_iter_begin(v);
	struct json_object_iterator end = json_object_iter_end(v);

	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it))
		json_out_value(o, json_object_iter_peek_name(&it),
			       json_object_iter_peek_value(&it));
}

/* json-c writes 1.0 as "1.0" and refuses nothing: NaN must not get out. */
static void json_out_double(struct json_out *o, const char *key, double d)
{
	json_out_key(o, key);
	if (d != d || d - d != 0.0)
		buf_adds(&o->b, "null");
	else
		buf_addf(&o->b, "%.17g", d);
}

void json_out_value(struct json_out *o, const char *key, struct json_object *v)
{
	switch (json_object_get_type(v)) {
	case json_type_null:
		json_out_null(o, key);
		return;
	case json_type_boolean:
		json_out_bool(o, key, json_object_get_boolean(v) != 0);
		return;
	case json_type_double:
		json_out_double(o, key, json_object_get_double(v));
		return;
	case json_type_int:
		json_out_int(o, key, json_object_get_int64(v));
		return;
	case json_type_string:
		json_out_textn(o, key, json_object_get_string(v),
			       (size_t)json_object_get_string_len(v));
		return;
	case json_type_object:
		json_out_object(o, key);
		json_out_members(o, v);
		json_out_end(o);
		return;
	case json_type_array:
		json_out_array(o, key);
		for (size_t i = 0; i < json_object_array_length(v); i++)
			json_out_value(o, NULL,
				       json_object_array_get_idx(v, i));
		json_out_end(o);
		return;
	}
}

void json_out_raw(struct json_out *o, const char *key, const char *json)
{
	json_out_key(o, key);
	buf_adds(&o->b, json);
}

bool json_out_ok(const struct json_out *o)
{
	return buf_ok(&o->b) && o->depth == 0;
}
