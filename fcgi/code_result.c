#include <json-c/json.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/code_chart.h"
#include "fcgi/code_result.h"

enum result_form { FORM_TEXT, FORM_BASE64, FORM_ANY };

struct result_mime {
	const char *mime;
	const char *key;
	enum result_form form;
};

static const struct result_mime result_mimes[] = {
    {"text/plain", "text", FORM_TEXT},
    {"text/html", "html", FORM_TEXT},
    {"text/markdown", "markdown", FORM_TEXT},
    {"image/svg+xml", "svg", FORM_TEXT},
    {"image/png", "png", FORM_BASE64},
    {"image/jpeg", "jpeg", FORM_BASE64},
    {"application/pdf", "pdf", FORM_BASE64},
    {"text/latex", "latex", FORM_TEXT},
    {"application/json", "json", FORM_ANY},
    {"application/javascript", "javascript", FORM_TEXT},
};

#define RESULT_MIMES (sizeof(result_mimes) / sizeof(result_mimes[0]))

/* ---- numbers ---- */

#define RESULT_INT_DIGITS 19
static const char result_int_max[] = "9223372036854775807";

/* How many bytes at p are an integer that int64_t cannot hold; else 0. */
static size_t result_wide_int(const char *p, size_t left)
{
	size_t n = 0;

	while (n < left && p[n] >= '0' && p[n] <= '9')
		n++;
	if (n < left && (p[n] == '.' || p[n] == 'e' || p[n] == 'E'))
		return 0;
	if (n < RESULT_INT_DIGITS ||
	    (n == RESULT_INT_DIGITS && memcmp(p, result_int_max, n) <= 0))
		return 0;
	return n;
}

static size_t result_number_len(const char *p, size_t left)
{
	size_t n = 0;

	while (n < left && p[n] != '\0' && strchr("0123456789.eE+-", p[n]))
		n++;
	return n;
}

/*
 * The parser clamps an integer that is too large, which would be a wrong
 * number; with ".0" it is read as the double that JavaScript meant.
 * Appends to ${wide} only if there is one. Returns about how many values
 * there are: each costs the parser far more than the bytes it has here.
 */
static size_t result_widen(const char *p, size_t n, struct buf *wide)
{
	size_t from = 0, values = 0;
	bool text = false;

	for (size_t i = 0; i < n; i++) {
		size_t m;

		if (p[i] == '"')
			text = !text;
		else if (text && p[i] == '\\')
			i++;
		else if (!text && strchr(",[{", p[i]) != NULL)
			values++;
		if (text || p[i] < '0' || p[i] > '9')
			continue;
		m = result_wide_int(p + i, n - i);
		if (m > 0) {
			buf_add(wide, p + from, i + m - from);
			buf_adds(wide, ".0");
			from = i + m;
		}
		i += result_number_len(p + i, n - i) - 1;
	}
	if (from > 0)
		buf_add(wide, p + from, n - from);
	return values;
}

/* ---- reading ---- */

static enum err result_bad(struct errinfo *e, const char *what)
{
	return err_set(e, ERR_PEER, 0, "kernel sent a malformed %s", what);
}

static bool result_is_text(struct json_object *v)
{
	return json_object_is_type(v, json_type_string);
}

static enum err result_read_result(struct code_result *r, struct errinfo *e)
{
	struct json_object *root = r->in.root, *display;

	r->mime = json_object_object_get(root, "mime");
	r->chart = json_object_object_get(root, "chart");
	r->data = json_object_object_get(root, "data");
	display = json_object_object_get(root, "display");
	if (!json_object_is_type(r->mime, json_type_object))
		return result_bad(e, "result");
	if (display != NULL && !json_object_is_type(display, json_type_boolean))
		return result_bad(e, "result");
	r->display = display != NULL && json_object_get_boolean(display) != 0;
	return ERR_NONE;
}

static enum err result_read_error(struct code_result *r, struct errinfo *e)
{
	struct json_object *root = r->in.root;
	size_t n;

	r->ename = json_object_object_get(root, "ename");
	r->evalue = json_object_object_get(root, "evalue");
	r->traceback = json_object_object_get(root, "traceback");
	if (!result_is_text(r->ename) || !result_is_text(r->evalue) ||
	    !json_object_is_type(r->traceback, json_type_array))
		return result_bad(e, "error");
	n = json_object_array_length(r->traceback);
	if (n > CODE_RESULT_LINES_MAX)
		return result_bad(e, "error");
	for (size_t i = 0; i < n; i++)
		if (!result_is_text(json_object_array_get_idx(r->traceback, i)))
			return result_bad(e, "error");
	return ERR_NONE;
}

static enum err result_read_done(struct code_result *r, struct errinfo *e)
{
	struct json_object *v = json_object_object_get(r->in.root,
						       "execution_count");

	if (!json_object_is_type(v, json_type_int) ||
	    json_object_get_int64(v) < 0)
		return result_bad(e, "done");
	r->execution_count = json_object_get_int64(v);
	return ERR_NONE;
}

enum err code_result_read(struct code_result *r, enum event_kind kind,
			  const char *json, size_t n, struct errinfo *e)
{
	size_t max = kind == EVENT_RESULT ? CODE_RESULT_JSON_MAX
					  : CODE_RESULT_ERROR_MAX;
	enum err got;

	code_result_free(r);
	r->kind = kind;
	r->in.values_max = CODE_RESULT_VALUES_MAX;
	if (n > max)
		return result_bad(e, "frame: too long");
	r->wide = (struct buf)BUF_INIT(2 * n + 2);
	if (result_widen(json, n, &r->wide) > CODE_RESULT_VALUES_MAX)
		return result_bad(e, "frame: too many values");
	if (!buf_ok(&r->wide))
		return err_set(e, ERR_NOMEM, 0, "result");
	if (r->wide.len > 0)
		got = json_in_parse(&r->in, r->wide.data, r->wide.len, e);
	else
		got = json_in_parse(&r->in, json, n, e);
	if (got == ERR_ARG)
		return err_set(e, ERR_PEER, 0, "kernel sent bad JSON: %.120s",
			       r->in.why);
	if (got != ERR_NONE)
		return got;
	if (kind == EVENT_RESULT)
		return result_read_result(r, e);
	if (kind == EVENT_ERROR)
		return result_read_error(r, e);
	return result_read_done(r, e);
}

void code_result_free(struct code_result *r)
{
	json_in_free(&r->in);
	buf_free(&r->wide);
	*r = (struct code_result){0};
}

/* ---- writing ---- */

static bool result_is_base64(struct json_object *v)
{
	const char *s = json_object_get_string(v);
	size_t n = (size_t)json_object_get_string_len(v), data = n;

	if (n == 0 || n % 4 != 0)
		return false;
	while (data > n - 2 && s[data - 1] == '=')
		data--;
	for (size_t i = 0; i < data; i++) {
		unsigned char c = (unsigned char)s[i];
		bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';

		if (!letter && (c < '0' || c > '9') && c != '+' && c != '/')
			return false;
	}
	return true;
}

static bool result_form_ok(enum result_form form, struct json_object *v)
{
	switch (form) {
	case FORM_TEXT:
		return result_is_text(v);
	case FORM_BASE64:
		return result_is_text(v) && result_is_base64(v);
	case FORM_ANY:
		return true;
	}
	return false;
}

static const struct result_mime *result_mime_of(const char *mime)
{
	for (size_t i = 0; i < RESULT_MIMES; i++)
		if (strcmp(result_mimes[i].mime, mime) == 0)
			return &result_mimes[i];
	return NULL;
}

/* What has no key of its own on the wire, under its MIME type. */
static void result_put_others(struct json_object *mime, struct json_out *o)
{
	struct json_object_iterator it = json_object_iter_begin(mime);
	struct json_object_iterator end = json_object_iter_end(mime);
	bool open = false;

	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		const char *key = json_object_iter_peek_name(&it);

		if (result_mime_of(key) != NULL)
			continue;
		if (!open)
			json_out_object(o, "mime");
		open = true;
		json_out_value(o, key, json_object_iter_peek_value(&it));
	}
	if (open)
		json_out_end(o);
}

static void result_put_metadata(const struct code_result *r, struct json_out *o)
{
	json_out_object(o, "metadata");
	json_out_bool(o, "display", r->display);
	json_out_array(o, "dropped");
	for (size_t i = 0; i < RESULT_MIMES; i++) {
		const struct result_mime *m = &result_mimes[i];
		struct json_object *v;

		if (json_object_object_get_ex(r->mime, m->mime, &v) &&
		    !result_form_ok(m->form, v))
			json_out_text(o, NULL, m->key);
	}
	if (r->chart != NULL && !code_chart_ok(r->chart))
		json_out_text(o, NULL, "chart");
	if (r->data != NULL && !code_chart_table_ok(r->data))
		json_out_text(o, NULL, "data");
	json_out_end(o);
	json_out_end(o);
}

void code_result_put(const struct code_result *r, struct json_out *o)
{
	for (size_t i = 0; i < RESULT_MIMES; i++) {
		const struct result_mime *m = &result_mimes[i];
		struct json_object *v;

		if (json_object_object_get_ex(r->mime, m->mime, &v) &&
		    result_form_ok(m->form, v))
			json_out_value(o, m->key, v);
	}
	result_put_others(r->mime, o);
	if (r->chart != NULL && code_chart_ok(r->chart))
		json_out_value(o, "chart", r->chart);
	if (r->data != NULL && code_chart_table_ok(r->data))
		json_out_value(o, "data", r->data);
	result_put_metadata(r, o);
}

void code_result_put_error(const struct code_result *r, const char *name,
			   const char *message, struct json_out *o)
{
	json_out_value(o, name, r->ename);
	json_out_value(o, message, r->evalue);
	json_out_value(o, "traceback", r->traceback);
}
