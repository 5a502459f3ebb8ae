/* Conditional requests and ranges of RFC 9110, for raw files. */
#ifndef FCGI_FILE_COND_H
#define FCGI_FILE_COND_H

#include "base/fs_msg.h"
#include "fcgi/route.h"

#define FILE_TAG_LEN (FS_TAG_LEN + 2) /* quoted */
#define FILE_DATE_LEN 40

/* What of a file the conditions are about. */
struct file_state {
	char tag[FILE_TAG_LEN]; /* as in ETag */
	int64_t mtime_s;
	uint64_t size;
};

enum file_verdict { FILE_GO, FILE_NOT_MODIFIED, FILE_FAILED };

/** file_cond_state(head, out): The state of the file that ${head} tells. */
void file_cond_state(const struct fs_head *head, struct file_state *out);

/** file_cond_headers(rq, s): ETag and Last-Modified for the answer. */
void file_cond_headers(struct request *rq, const struct file_state *s);

/**
 * file_cond_get(rq, s):
 * Whether a GET or HEAD goes on: by If-Match, If-Unmodified-Since,
 * If-None-Match and If-Modified-Since, in this order.
 */
enum file_verdict file_cond_get(const struct request *rq,
				const struct file_state *s);

/**
 * file_cond_put(rq, out, e):
 * If-Match or If-None-Match as the executor's IF (base/fs_msg.h); "-": none.
 * Errors: ERR_ARG with the failure noted: both at once, or no list of tags.
 */
FALLIBLE enum err file_cond_put(struct request *rq, struct buf *out,
				struct errinfo *e);

enum file_range { FILE_RANGE_ALL, FILE_RANGE_PART, FILE_RANGE_NONE };

/**
 * file_cond_range(rq, s, at, n):
 * What of the file Range asks for, if If-Range lets it. Several ranges, or
 * what is no range of bytes: all. FILE_RANGE_NONE: 416.
 */
enum file_range file_cond_range(const struct request *rq,
				const struct file_state *s, uint64_t *at,
				uint64_t *n);

/**
 * file_cond_bytes(text, size, at, n): The same for the text of a Range.
 */
enum file_range file_cond_bytes(const char *text, uint64_t size, uint64_t *at,
				uint64_t *n);

/** file_cond_date(s, out), file_cond_time(text, out): An HTTP date; false
 * when it is none. */
void file_cond_date(int64_t s, char out[FILE_DATE_LEN]);
bool file_cond_time(const char *text, int64_t *out);

/** file_cond_listed(list, tag, weak): The list of If-Match or If-None-Match has
 * ${tag}; ${weak}: W/"…" stands for it, too. */
bool file_cond_listed(const char *list, const char *tag, bool weak);

#endif
