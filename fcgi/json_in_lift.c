/*
 * A long text, such as a file, is nothing for a parser that copies it twice:
 * it is cut out of the body, and decoded where it is.
 */
#include <string.h>

#include "fcgi/json_in.h"
#include "fcgi/json_text.h"

#define LIFT_MIN (16U << 10)

struct walk {
	const char *p;
	size_t n;
	size_t at;
	int depth;
	bool key; /* what comes at depth 1 is a member's name */
};

/* From behind a text's first quote to its last one; n: there is none. */
static size_t text_end(const char *p, size_t at, size_t n)
{
	while (at < n) {
		at += json_text_plain(p + at, n - at);
		if (at >= n || p[at] == '"')
			break;
		at += p[at] == '\\' ? 2 : 1;
	}
	return at < n ? at : n;
}

static size_t space(const struct walk *w, size_t at)
{
	while (at < w->n && strchr(" \t\r\n", w->p[at]) != NULL &&
	       w->p[at] != '\0')
		at++;
	return at;
}

/* The first quote of the text that is the value of the name which ends before
 * ${at}; 0: it is no text. */
static size_t value_text(const struct walk *w, size_t at)
{
	at = space(w, at);
	if (at >= w->n || w->p[at] != ':')
		return 0;
	at = space(w, at + 1);
	return at < w->n && w->p[at] == '"' ? at : 0;
}

/* A text: true when it is the name ${key} of a long one, at *from to *to. */
static bool walk_text(struct walk *w, const char *key, size_t *from, size_t *to)
{
	size_t at = w->at + 1;
	size_t end = text_end(w->p, at, w->n);
	bool named = w->key && w->depth == 1 && end - at == strlen(key) &&
		     memcmp(w->p + at, key, end - at) == 0;
	size_t value = named ? value_text(w, end + 1) : 0;

	w->key = false;
	w->at = end + 1;
	if (value == 0)
		return false;
	*from = value + 1;
	*to = text_end(w->p, *from, w->n);
	return *to < w->n && *to - *from >= LIFT_MIN;
}

static bool find(const char *p, size_t n, const char *key, size_t *from,
		 size_t *to)
{
	struct walk w = {.p = p, .n = n};

	while (w.at < n) {
		char c = p[w.at];

		if (c == '"') {
			if (walk_text(&w, key, from, to))
				return true;
			continue;
		}
		w.depth += (c == '{' || c == '[') - (c == '}' || c == ']');
		if (c == '{' || c == ',')
			w.key = true;
		w.at++;
	}
	return false;
}

enum err json_in_lift(struct json_in *in, struct buf *body, struct buf *rest,
		      struct errinfo *e)
{
	size_t from, to;

	if (in->lift == NULL ||
	    !find(body->data, body->len, in->lift, &from, &to))
		return ERR_NONE;
	buf_add(rest, body->data, from - 1);
	buf_adds(rest, "null");
	buf_add(rest, body->data + to + 1, body->len - to - 1);
	if (!buf_ok(rest))
		return err_set(e, ERR_NOMEM, 0, "json");
	in->body = *body;
	*body = (struct buf)BUF_INIT(body->max_bytes);
	in->lifted = (struct json_blob){.p = in->body.data + from,
					.n = to - from};
	if (!json_text_decode(in->body.data + from, &in->lifted.n))
		return err_set(e, ERR_ARG, 0, "escape");
	in->body.data[from + in->lifted.n] = '\0';
	return ERR_NONE;
}
