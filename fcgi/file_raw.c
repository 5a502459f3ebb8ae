#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/file_raw.h"
#include "fcgi/pool.h"
#include "fcgi/utf8.h"

#define NAME_BYTES 255U
#define FEED_BYTES (256U * KIB)

const char *file_raw_path(const struct request *rq)
{
	const char *path = route_param(rq, "path");

	return path[0] != '\0' ? path : ".";
}

/* What every client understands between quotes. */
static void put_plain(struct buf *b, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\' &&
			     c != '%';

		buf_addc(b, plain ? (char)c : '_');
	}
}

static void put_escaped(struct buf *b, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c >= '0' && c <= '9') || strchr("-._~", c) != NULL)
			buf_addc(b, (char)c);
		else
			buf_addf(b, "%%%02X", c);
	}
}

void file_raw_name(struct request *rq, const char *path, bool download)
{
	OWN(buf_free) struct buf b = BUF_INIT(2000);
	OWN(buf_free) struct buf text = BUF_INIT(4 * NAME_BYTES);
	struct utf8 u = {0};
	const char *end = path + strlen(path);
	const char *name;
	size_t n;

	while (end > path && end[-1] == '/')
		end--;
	for (name = end; name > path && name[-1] != '/'; name--)
		continue;
	n = (size_t)(end - name) < NAME_BYTES ? (size_t)(end - name)
					      : NAME_BYTES;
	utf8_decode(&u, name, n, &text); /* the charset that is named */
	utf8_end(&u, &text);
	buf_adds(&b,
		 download ? "attachment; filename=\"" : "inline; filename=\"");
	put_plain(&b, name, n);
	buf_adds(&b, "\"; filename*=UTF-8''");
	put_escaped(&b, buf_str(&text), text.len);
	if (buf_ok(&b))
		answer_header(rq, "Content-Disposition", "%s", buf_str(&b));
	answer_header(rq, "X-Content-Type-Options", "nosniff");
	answer_header(rq, "Content-Security-Policy", "sandbox");
}

enum err file_raw_feed(struct request *rq, struct fs_call *c, struct errinfo *e)
{
	OWN(own_mem) char *p = malloc(FEED_BYTES);
	size_t got = 1;
	enum err r = p != NULL ? ERR_NONE : err_set(e, ERR_NOMEM, 0, "body");

	direct_widen_in(&c->d, (size_t)body_length(rq));
	if (r == ERR_NONE && (size_t)body_length(rq) > FEED_BYTES) {
		route_park(rq);
		r = pool_long(rq, e);
	}
	while (r == ERR_NONE && got > 0 && !c->d.deaf) {
		r = body_read(rq, p, FEED_BYTES, &got, e);
		if (r == ERR_NONE && got > 0)
			r = fs_call_put(c, p, got, e);
	}
	return r;
}
