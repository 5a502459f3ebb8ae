/* Writing a file whose content comes in the body. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/body.h"
#include "fcgi/file_body.h"

struct write_in {
	const char *path;
	struct json_blob content;
	const char *encoding;
};

#define AT(member) offsetof(struct write_in, member)
#define WORD_MAX 64

static const struct json_field write_fields[] = {
    FILE_PATH_FIELD("path", AT(path)),
    {"content", NULL, JSON_BLOB, AT(content), true, 0, JSON_IN_TEXT_MAX},
    {"encoding", NULL, JSON_TEXT, AT(encoding), false, 0, WORD_MAX},
    FILE_SESSION_FIELD,
};

/* The bytes to write: as they came, or decoded into ${own}. */
static enum err write_bytes(struct request *rq, const struct write_in *in,
			    char **own, struct json_blob *out,
			    struct errinfo *e)
{
	const char *enc = in->encoding;
	const char *end = NULL;
	size_t n = 0;

	*out = in->content;
	if (enc == NULL || strcmp(enc, "utf-8") == 0 ||
	    strcmp(enc, "utf8") == 0)
		return ERR_NONE;
	if (strcmp(enc, "base64") != 0)
		return err_http_field(rq, e, "encoding",
				      "must be utf-8 or base64");
	*own = malloc(in->content.n / 4 * 3 + 4);
	if (*own == NULL)
		return err_set(e, ERR_NOMEM, 0, "content");
	if (sodium_base642bin((unsigned char *)*own, in->content.n / 4 * 3 + 4,
			      in->content.p, in->content.n, "\r\n", &n, &end,
			      sodium_base64_VARIANT_ORIGINAL) != 0 ||
	    end != in->content.p + in->content.n)
		return err_http_field(rq, e, "content", "is not valid base64");
	out->p = *own;
	out->n = n;
	return ERR_NONE;
}

static enum err write_put(struct request *rq, struct fs_call *c,
			  const char *path, const struct json_blob *bytes,
			  struct errinfo *e)
{
	const char *const argv[] = {"write", path, "-", "1"};
	enum err r = fs_call_open(rq, LINK_CREATE, argv, 4, c, e);

	if (r == ERR_NONE)
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
	struct write_in in = {0};
	struct json_blob bytes;
	enum err r;

	json_out_init(&o, FILE_ANSWER_MAX);
	c.op = "file.write";
	file_body_op(rq, c.op);
	r = body_json(rq, write_fields, JSON_COUNT(write_fields), &in, e);
	if (r == ERR_NONE)
		r = write_bytes(rq, &in, &own, &bytes, e);
	if (r == ERR_NONE)
		r = write_put(rq, &c, in.path, &bytes, e);
	if (r != ERR_NONE)
		return r;
	file_body_start(&o);
	json_out_text(&o, "path", in.path);
	json_out_int(&o, "size", (int64_t)c.head.meta.size);
	return file_body_send(rq, &o, e);
}
