#include "fcgi/file_body.h"
#include "base/own.h"
#include "fcgi/answer.h"

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
