#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/file_body.h"

void file_body_op(struct request *rq, const char *op)
{
	err_http_operation(rq, op);
}

enum err file_body_run(struct request *rq, enum link_mode mode, const char *op,
		       const char *const *argv, uint32_t argc,
		       struct errinfo *e)
{
	OWN(fs_call_close) struct fs_call c = FS_CALL_INIT;
	enum err r;

	c.op = op;
	r = fs_call_open(rq, mode, argv, argc, &c, e);
	return r == ERR_NONE ? fs_call_head(&c, e) : r;
}

void file_body_start(struct json_out *o)
{
	json_out_object(o, NULL);
	json_out_bool(o, "success", true);
}

enum err file_body_send(struct request *rq, struct json_out *o,
			struct errinfo *e)
{
	json_out_now(o);
	json_out_end(o);
	return answer_json(rq, 200, o, e);
}

enum err file_body_bytes(struct request *rq, const struct json_blob *content,
			 const char *encoding, char **own,
			 struct json_blob *out, struct errinfo *e)
{
	const char *end = NULL;
	size_t n = 0;

	*out = *content;
	if (encoding == NULL || strcmp(encoding, "utf-8") == 0 ||
	    strcmp(encoding, "utf8") == 0)
		return ERR_NONE;
	if (strcmp(encoding, "base64") != 0)
		return err_http_field(rq, e, "encoding",
				      "must be utf-8 or base64");
	*own = malloc(content->n / 4 * 3 + 4);
	if (*own == NULL)
		return err_set(e, ERR_NOMEM, 0, "content");
	if (sodium_base642bin((unsigned char *)*own, content->n / 4 * 3 + 4,
			      content->p, content->n, "\r\n", &n, &end,
			      sodium_base64_VARIANT_ORIGINAL) != 0 ||
	    end != content->p + content->n)
		return err_http_field(rq, e, "content", "is not valid base64");
	out->p = *own;
	out->n = n;
	return ERR_NONE;
}
