#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fcgi/answer.h"
#include "fcgi/file_cond.h"

#define TAGS_MAX 4096U

void file_cond_state(const struct fs_head *head, struct file_state *out)
{
	char tag[FS_TAG_LEN];

	fs_tag(head->inode, &head->meta, tag);
	snprintf(out->tag, sizeof(out->tag), "\"%s\"", tag);
	out->mtime_s = head->meta.mtime_s;
	out->size = head->meta.size;
}

void file_cond_date(int64_t s, char out[FILE_DATE_LEN])
{
	time_t t = (time_t)s;
	struct tm tm = {0};

	/* A sandbox may say any time; HTTP knows years of four digits. */
	if (s < 0 || s >= INT64_C(253402300800))
		t = 0;
	gmtime_r(&t, &tm);
	strftime(out, FILE_DATE_LEN, "%a, %d %b %Y %H:%M:%S GMT", &tm);
}

bool file_cond_time(const char *text, int64_t *out)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm);

	if (end == NULL || *end != '\0')
		return false;
	*out = timegm(&tm);
	return true;
}

void file_cond_headers(struct request *rq, const struct file_state *s)
{
	char date[FILE_DATE_LEN];

	file_cond_date(s->mtime_s, date);
	answer_header(rq, "ETag", "%s", s->tag);
	answer_header(rq, "Last-Modified", "%s", date);
}

/*
 * The next tag of a list: from its quote on, with its length; ${weak}: it had
 * W/. NULL: no more, or this is no list.
 */
static const char *tag_next(const char **list, size_t *n, bool *weak)
{
	const char *p = *list + strspn(*list, " \t,");
	const char *end;

	*weak = strncmp(p, "W/", 2) == 0;
	if (*weak)
		p += 2;
	end = *p == '"' ? strchr(p + 1, '"') : NULL;
	if (end == NULL) {
		*list = p;
		return NULL;
	}
	*n = (size_t)(end - p) + 1;
	*list = end + 1;
	return p;
}

static bool is_any(const char *list)
{
	return strcmp(list + strspn(list, " \t"), "*") == 0;
}

bool file_cond_listed(const char *list, const char *tag, bool weak)
{
	const char *p;
	bool is_weak;
	size_t n;

	if (is_any(list))
		return true;
	while ((p = tag_next(&list, &n, &is_weak)) != NULL) {
		if (n == strlen(tag) && memcmp(p, tag, n) == 0 &&
		    (weak || !is_weak))
			return true;
	}
	return false;
}

enum file_verdict file_cond_get(const struct request *rq,
				const struct file_state *s)
{
	const char *match = route_header(rq, "HTTP_IF_MATCH");
	const char *none = route_header(rq, "HTTP_IF_NONE_MATCH");
	const char *same = route_header(rq, "HTTP_IF_UNMODIFIED_SINCE");
	const char *since = route_header(rq, "HTTP_IF_MODIFIED_SINCE");
	int64_t t;

	if (match != NULL && !file_cond_listed(match, s->tag, false))
		return FILE_FAILED;
	if (match == NULL && same != NULL && file_cond_time(same, &t) &&
	    s->mtime_s > t)
		return FILE_FAILED;
	if (none != NULL)
		return file_cond_listed(none, s->tag, true) ? FILE_NOT_MODIFIED
							    : FILE_GO;
	if (since != NULL && file_cond_time(since, &t) && s->mtime_s <= t)
		return FILE_NOT_MODIFIED;
	return FILE_GO;
}

/* The tags of a list, without quotes; a weak one can never be the file's. */
static bool put_tags(const char *list, struct buf *out)
{
	const char *p;
	bool weak;
	size_t n;
	int tags = 0;

	if (is_any(list)) {
		buf_addc(out, '*');
		return true;
	}
	while ((p = tag_next(&list, &n, &weak)) != NULL) {
		tags++;
		if (weak || memchr(p, ',', n) != NULL)
			continue;
		buf_add(out, p + 1, n - 2);
		buf_addc(out, ',');
	}
	return tags > 0 && *list == '\0';
}

enum err file_cond_put(struct request *rq, struct buf *out, struct errinfo *e)
{
	const char *match = route_header(rq, "HTTP_IF_MATCH");
	const char *none = route_header(rq, "HTTP_IF_NONE_MATCH");
	const char *list = match != NULL ? match : none;
	const char *name = match != NULL ? "If-Match" : "If-None-Match";

	if (match != NULL && none != NULL)
		return err_http_field(rq, e, "If-Match",
				      "cannot be sent with If-None-Match");
	if (list == NULL) {
		buf_addc(out, '-');
		return ERR_NONE;
	}
	buf_addc(out, match != NULL ? '=' : '!');
	if (strlen(list) > TAGS_MAX || !put_tags(list, out))
		return err_http_field(rq, e, name,
				      "must be * or a list of quoted tags");
	return buf_ok(out) ? ERR_NONE : err_set(e, ERR_NOMEM, 0, "tags");
}

/* Decimal digits at *p, moved on; as many as there can be bytes. */
static bool digits(const char **p, uint64_t *v)
{
	const char *s = *p;

	*v = 0;
	for (; *s >= '0' && *s <= '9'; s++) {
		if (*v > INT64_MAX / 10 - 1)
			*v = INT64_MAX / 10 - 1; /* more than any file has */
		*v = *v * 10 + (uint64_t)(*s - '0');
	}
	if (s == *p)
		return false;
	*p = s;
	return true;
}

/* "N-", "N-M", "-N"; last: the last byte. */
static enum file_range range_of(const char *p, uint64_t size, uint64_t *at,
				uint64_t *last)
{
	bool suffix = *p == '-';
	uint64_t n;

	p += suffix;
	if (!digits(&p, &n))
		return FILE_RANGE_ALL;
	if (suffix) {
		if (*p != '\0')
			return FILE_RANGE_ALL;
		*at = n < size ? size - n : 0;
		*last = size - 1;
		return n > 0 && size > 0 ? FILE_RANGE_PART : FILE_RANGE_NONE;
	}
	*at = n;
	*last = size - 1;
	if (*p++ != '-')
		return FILE_RANGE_ALL;
	if (*p != '\0') {
		if (!digits(&p, &n) || *p != '\0' || n < *at)
			return FILE_RANGE_ALL;
		if (n < *last)
			*last = n;
	}
	return *at < size ? FILE_RANGE_PART : FILE_RANGE_NONE;
}

enum file_range file_cond_bytes(const char *text, uint64_t size, uint64_t *at,
				uint64_t *n)
{
	uint64_t from, last;
	enum file_range r;

	if (strncmp(text, "bytes=", 6) != 0)
		return FILE_RANGE_ALL;
	r = range_of(text + 6, size, &from, &last);
	if (r == FILE_RANGE_PART) {
		*at = from;
		*n = last - from + 1;
	}
	return r;
}

enum file_range file_cond_range(const struct request *rq,
				const struct file_state *s, uint64_t *at,
				uint64_t *n)
{
	const char *range = route_header(rq, "HTTP_RANGE");
	const char *when = route_header(rq, "HTTP_IF_RANGE");
	int64_t t;

	*at = 0;
	*n = s->size;
	if (range == NULL || rq->method != METHOD_GET)
		return FILE_RANGE_ALL;
	/* A date can only say that nothing newer came: it must be the same. */
	if (when != NULL && strcmp(when, s->tag) != 0 &&
	    !(file_cond_time(when, &t) && t == s->mtime_s))
		return FILE_RANGE_ALL;
	return file_cond_bytes(range, s->size, at, n);
}
