/* Raw files: PUT and DELETE. */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/file_body.h"
#include "fcgi/file_cond.h"
#include "fcgi/file_raw.h"

#define COND_MAX 8192U
#define NUMBER_LEN 32

/* ?mode=0644 */
static enum err raw_mode(struct request *rq, char out[8], struct errinfo *e)
{
	char text[16] = "-";
	size_t n;

	if (route_query_has(rq, "mode") &&
	    !route_query(rq, "mode", text, sizeof(text)))
		text[0] = '?';
	n = strlen(text);
	if (strcmp(text, "-") != 0 &&
	    (n < 3 || n > 5 || strspn(text, "01234567") != n ||
	     (n == 5 && text[0] != '0')))
		return err_http_field(rq, e, "mode",
				      "must be an octal mode, such as 0644");
	memcpy(out, text, n + 1);
	return ERR_NONE;
}

/* How the body is to be written: argv of the executor. */
struct raw_put {
	const char *argv[6];
	uint32_t argc;
	char mode[8];
	char offset[NUMBER_LEN];
	struct buf cond;
};

/* What the query asks for, and not two things at once. */
struct raw_query {
	bool append;
	bool sync;
	int64_t offset;
};

static enum err raw_query(struct request *rq, struct raw_query *q,
			  const char *mode, struct errinfo *e)
{
	static const char *const names[] = {"append", "offset", "mode", "sync",
					    NULL};
	enum err r = route_query_only(rq, names, e);

	if (r == ERR_NONE)
		r = route_query_flag(rq, "append", &q->append, e);
	if (r == ERR_NONE)
		r = route_query_flag(rq, "sync", &q->sync, e);
	if (r == ERR_NONE)
		r = route_query_int(rq, "offset", 0, INT64_MAX / 2, &q->offset,
				    e);
	if (r != ERR_NONE)
		return r;
	if ((q->append || q->offset >= 0) &&
	    (mode[0] != '-' || (q->append && q->offset >= 0)))
		return err_http_field(rq, e, q->append ? "append" : "offset",
				      "cannot be combined with that");
	return ERR_NONE;
}

static enum err raw_how(struct request *rq, struct raw_put *w,
			struct errinfo *e)
{
	struct raw_query q = {.offset = -1, .sync = true};
	enum err r = raw_mode(rq, w->mode, e);

	if (r == ERR_NONE)
		r = raw_query(rq, &q, w->mode, e);
	if (r == ERR_NONE)
		r = file_cond_put(rq, &w->cond, e);
	if (r != ERR_NONE)
		return r;
	snprintf(w->offset, sizeof(w->offset), "%lld", (long long)q.offset);
	w->argv[1] = file_raw_path(rq);
	w->argv[0] = q.append ? "append" : q.offset >= 0 ? "patch" : "write";
	w->argc = 2;
	if (!q.append && q.offset < 0) {
		w->argv[w->argc++] = w->mode;
		w->argv[w->argc++] = q.sync ? "1" : "0";
	} else if (!q.append) {
		w->argv[w->argc++] = w->offset;
	}
	w->argv[w->argc++] = buf_str(&w->cond);
	if (q.append || q.offset >= 0)
		w->argv[w->argc++] = q.sync ? "1" : "0";
	return ERR_NONE;
}

static enum err raw_put(struct request *rq, const struct raw_put *w,
			struct fs_call *c, struct errinfo *e)
{
	enum err r = fs_call_open(rq, LINK_CREATE, w->argv, w->argc, c, e);

	if (r == ERR_NONE)
		r = file_raw_feed(rq, c, e);
	if (r == ERR_NONE)
		r = fs_call_put_end(c, e);
	return r == ERR_NONE ? fs_call_head(c, e) : r;
}

enum err file_raw_put(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;
	OWN(fs_call_close) struct fs_call c = FS_CALL_INIT;
	struct raw_put w = {.cond = BUF_INIT(COND_MAX)};
	struct file_state s;
	enum err r;

	json_out_init(&o, FILE_ANSWER_MAX);
	c.op = "file.write";
	err_http_operation(rq, c.op);
	r = raw_how(rq, &w, e);
	if (r == ERR_NONE)
		r = raw_put(rq, &w, &c, e);
	buf_free(&w.cond);
	if (r != ERR_NONE)
		return r;
	file_cond_state(&c.head, &s);
	file_cond_headers(rq, &s);
	json_out_object(&o, NULL);
	json_out_text(&o, "path", route_param(rq, "path"));
	json_out_int(&o, "size", (int64_t)s.size);
	json_out_end(&o);
	return answer_json(rq, c.head.created ? 201 : 200, &o, e);
}

enum err file_raw_delete(struct request *rq, struct errinfo *e)
{
	static const char *const names[] = {"recursive", NULL};
	OWN(buf_free) struct buf cond = BUF_INIT(COND_MAX);
	const char *argv[] = {"delete", file_raw_path(rq), NULL, NULL};
	bool all = false;
	enum err r;

	file_body_op(rq, "file.delete");
	r = route_query_only(rq, names, e);
	if (r == ERR_NONE)
		r = route_query_flag(rq, "recursive", &all, e);
	if (r == ERR_NONE)
		r = file_cond_put(rq, &cond, e);
	argv[2] = all ? "1" : "0";
	argv[3] = buf_str(&cond);
	if (r == ERR_NONE)
		r = file_body_run(rq, LINK_START, "file.remove", argv, 4, e);
	if (r == ERR_NONE)
		answer_empty(rq, 204);
	return r;
}
