/* Writing a file whose content comes in the body. */
#include "base/own.h"
#include "fcgi/body.h"
#include "fcgi/file_body.h"

struct write_in {
	const char *path;
	struct json_blob content;
	const char *encoding;
	bool sync;
};

#define AT(member) offsetof(struct write_in, member)
#define WORD_MAX 64

static const struct json_field write_fields[] = {
    FILE_PATH_FIELD("path", AT(path)),
    {"content", NULL, JSON_BLOB, AT(content), true, 0, JSON_IN_TEXT_MAX},
    {"encoding", NULL, JSON_TEXT, AT(encoding), false, 0, WORD_MAX},
    {"sync", NULL, JSON_BOOL, AT(sync), false, 0, 0},
    FILE_SESSION_FIELD,
};

static enum err write_put(struct request *rq, struct fs_call *c,
			  const struct write_in *in,
			  const struct json_blob *bytes, struct errinfo *e)
{
	const char *const argv[] = {"write", in->path, "-",
				    in->sync ? "1" : "0"};
	enum err r = fs_call_open(rq, LINK_CREATE, argv, 4, c, e);

	if (r != ERR_NONE)
		return r;
	direct_widen_in(&c->d, bytes->n);
	r = fs_call_put(c, bytes->p, bytes->n, e);
	if (r == ERR_NONE)
		r = fs_call_put_end(c, e);
	return r == ERR_NONE ? fs_call_head(c, e) : r;
}

enum err file_write(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;
	OWN(fs_call_close) struct fs_call c = FS_CALL_INIT;
	OWN(own_mem) char *own = NULL;
	struct write_in in = {.sync = true};
	struct json_blob bytes;
	enum err r;

	json_out_init(&o, FILE_ANSWER_MAX);
	c.op = "file.write";
	file_body_op(rq, c.op);
	rq->body.lift = "content";
	r = body_json(rq, write_fields, JSON_COUNT(write_fields), &in, e);
	if (r == ERR_NONE)
		r = file_body_bytes(rq, &in.content, in.encoding, &own, &bytes,
				    e);
	if (r == ERR_NONE)
		r = write_put(rq, &c, &in, &bytes, e);
	if (r != ERR_NONE)
		return r;
	file_body_start(&o);
	json_out_text(&o, "path", in.path);
	json_out_int(&o, "size", (int64_t)c.head.meta.size);
	return file_body_send(rq, &o, e);
}
