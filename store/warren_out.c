#include <json-c/json.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "base/buf.h"
#include "base/own.h"
#include "store/warren_out.h"

#define OUT_VALUE_MAX (64U << 20)

/* The length of the valid UTF-8 character at ${s}, or 0. */
static size_t out_char(const char *s, size_t len, wchar_t *wc)
{
	mbstate_t st;
	size_t n;

	memset(&st, 0, sizeof(st));
	if (*s == '\0') {
		*wc = L'\0';
		return 1;
	}
	n = mbrtowc(wc, s, len, &st);
	if (n == (size_t)-1 || n == (size_t)-2)
		return 0;
	if (*wc > 0x10ffff || (*wc >= 0xd800 && *wc <= 0xdfff))
		return 0;
	return n;
}

/* What a tenant's program printed must not steer the operator's terminal. */
static void out_text(FILE *f, const char *s, size_t len)
{
	while (len > 0) {
		wchar_t wc;
		size_t n = out_char(s, len, &wc);

		if (n > 0 && iswprint((wint_t)wc) && wc != L'\\') {
			fwrite(s, 1, n, f);
		} else if (*s == '\n') {
			fputs("\\n", f);
		} else if (*s == '\t') {
			fputs("\\t", f);
		} else if (*s == '\\') {
			fputs("\\\\", f);
		} else {
			for (size_t i = 0; i < (n > 0 ? n : 1); i++)
				fprintf(f, "\\x%02x",
					(unsigned)(unsigned char)s[i]);
		}
		s += n > 0 ? n : 1;
		len -= n > 0 ? n : 1;
	}
}

static void out_hex(FILE *f, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		fprintf(f, "%02x", (unsigned)(unsigned char)s[i]);
}

static void out_row_text(FILE *f, const struct sql_value *v)
{
	switch (v->type) {
	case SQL_NULL:
		break;
	case SQL_INT:
		fprintf(f, "%lld", (long long)v->i);
		break;
	case SQL_REAL:
		fprintf(f, "%.15g", v->real);
		break;
	case SQL_TEXT:
		out_text(f, v->data, v->len);
		break;
	case SQL_BLOB:
		out_hex(f, v->data, v->len);
		break;
	}
}

/* A JSON text; bytes that are not UTF-8 become U+FFFD. */
static struct json_object *out_json_text(const char *s, size_t len)
{
	OWN(buf_free) struct buf b = BUF_INIT(OUT_VALUE_MAX);

	while (len > 0) {
		wchar_t wc;
		size_t n = out_char(s, len, &wc);

		if (n > 0)
			buf_add(&b, s, n);
		else
			buf_adds(&b, "\xef\xbf\xbd");
		s += n > 0 ? n : 1;
		len -= n > 0 ? n : 1;
	}
	if (!buf_ok(&b))
		return NULL;
	return json_object_new_string_len(buf_str(&b), (int)b.len);
}

static struct json_object *out_json_blob(const char *s, size_t len)
{
	OWN(own_mem) char *hex = malloc(len * 2 + 1);

	if (hex == NULL)
		return NULL;
	sodium_bin2hex(hex, len * 2 + 1, (const unsigned char *)s, len);
	return json_object_new_string_len(hex, (int)(len * 2));
}

static struct json_object *out_json_value(const struct sql_value *v)
{
	switch (v->type) {
	case SQL_NULL:
		return json_object_new_null();
	case SQL_INT:
		return json_object_new_int64(v->i);
	case SQL_REAL:
		/* JSON has no infinity. */
		return isfinite(v->real) ? json_object_new_double(v->real)
					 : json_object_new_null();
	case SQL_TEXT:
		return out_json_text(v->data, v->len);
	case SQL_BLOB:
		return out_json_blob(v->data, v->len);
	}
	return NULL;
}

static enum err out_nomem(struct errinfo *e)
{
	return err_set(e, ERR_NOMEM, 0, "output");
}

static enum err out_row_json(struct warren_out *o,
			     const struct sql_value *values, size_t n,
			     struct errinfo *e)
{
	struct json_object *row = json_object_new_object();
	enum err r = row != NULL ? ERR_NONE : out_nomem(e);
	const char *text;

	for (size_t i = 0; i < n && r == ERR_NONE; i++) {
		struct json_object *v = out_json_value(&values[i]);

		bool lost = v == NULL && values[i].type != SQL_NULL &&
			    values[i].type != SQL_REAL;

		if (lost || json_object_object_add(row, o->names[i], v) != 0)
			r = out_nomem(e);
	}
	text = row != NULL ? json_object_to_json_string_ext(
				 row, JSON_C_TO_STRING_PLAIN |
					  JSON_C_TO_STRING_NOSLASHESCAPE)
			   : NULL;
	if (r == ERR_NONE && text == NULL)
		r = out_nomem(e);
	if (r == ERR_NONE)
		fprintf(o->file, "%s%s", o->any ? ",\n" : "", text);
	json_object_put(row);
	o->any = true;
	return r;
}

static enum err out_head(void *arg, const char *const *names, size_t n,
			 struct errinfo *e)
{
	struct warren_out *o = arg;

	o->owned = calloc(n + 1, sizeof(*o->owned));
	o->names = calloc(n + 1, sizeof(*o->names));
	if (o->owned == NULL || o->names == NULL)
		return out_nomem(e);
	for (size_t i = 0; i < n; i++) {
		o->owned[i] = strdup(names[i]);
		if (o->owned[i] == NULL)
			return out_nomem(e);
		o->n++;
		o->names[i] = o->owned[i];
	}
	if (o->json) {
		fputc('[', o->file);
		return ERR_NONE;
	}
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			fputc('\t', o->file);
		out_text(o->file, names[i], strlen(names[i]));
	}
	fputc('\n', o->file);
	return ERR_NONE;
}

static enum err out_row(void *arg, const struct sql_value *values, size_t n,
			struct errinfo *e)
{
	struct warren_out *o = arg;

	if (o->json)
		return out_row_json(o, values, n, e);
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			fputc('\t', o->file);
		out_row_text(o->file, &values[i]);
	}
	fputc('\n', o->file);
	if (ferror(o->file))
		return err_set(e, ERR_IO, 0, "the output cannot be written");
	return ERR_NONE;
}

struct sql_sink warren_out_sink(struct warren_out *o)
{
	return (struct sql_sink){.arg = o, .head = out_head, .row = out_row};
}

void warren_out_end(struct warren_out *o)
{
	if (o->json && o->owned != NULL)
		fputs("]\n", o->file);
	for (size_t i = 0; i < o->n; i++)
		free(o->owned[i]);
	free(o->owned);
	free(o->names);
	o->owned = NULL;
	o->names = NULL;
	o->n = 0;
}
