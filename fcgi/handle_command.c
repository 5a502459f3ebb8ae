/* Which commands a sandbox has. */
#include <string.h>

#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/exec_call.h"
#include "fcgi/pool.h"

#define LIST_MAX (4U * MIB)
#define LIST_JSON_MAX (32U * MIB)
#define LIST_MS 10000
/* Its shell knows: what PATH leads to, and its own. */
#define LIST_COMMAND "compgen -c | LC_ALL=C sort -u"

static enum err command_chunk(void *ctx, const struct keeper_event *ev,
			      struct errinfo *e)
{
	struct buf *names = ctx;

	(void)e;
	if (ev->kind == EVENT_OUT)
		buf_add(names, ev->data, ev->len);
	return ERR_NONE;
}

static enum err command_answer(struct request *rq, const struct buf *names,
			       struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(LIST_JSON_MAX);
	const char *at = buf_str(names), *end;
	int64_t count = 0;

	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_array(&o, "availableCommands");
	for (; (end = strchr(at, '\n')) != NULL; at = end + 1, count++)
		json_out_textn(&o, NULL, at, (size_t)(end - at));
	json_out_end(&o);
	json_out_int(&o, "count", count);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

static enum err command_hear(struct exec_call *x, struct buf *names,
			     struct errinfo *e)
{
	const struct exec_ear ear = {.chunk = command_chunk, .ctx = names};
	enum err r = exec_call_hear(x, &ear, e);

	if (r != ERR_NONE)
		return r;
	if (x->lost || x->cut || x->end.reason != END_EXITED ||
	    x->end.exit_code != 0 || !buf_ok(names))
		return err_http_fail(x->rq, e, HTTP_COMMAND_EXECUTION_ERROR,
				     "The commands could not be listed");
	return ERR_NONE;
}

enum err command_list(struct request *rq, struct errinfo *e)
{
	OWN(exec_body_free) struct exec_body body = EXEC_BODY_INIT;
	OWN(exec_call_close) struct exec_call x = EXEC_CALL_INIT;
	OWN(buf_free) struct buf names = BUF_INIT(LIST_MAX);
	enum err r;

	err_http_operation(rq, "command.list");
	body.command = LIST_COMMAND;
	body.timeout_ms = LIST_MS;
	x.rq = rq;
	x.body = &body;
	r = launch_shell(&body.launch, body.command, e);
	if (r == ERR_NONE)
		r = launch_cwd(rq, &body.launch, NULL, e);
	/* A read creates no sandbox. */
	if (r == ERR_NONE)
		r = link_find(rq, e);
	if (r == ERR_NONE)
		r = pool_long(rq, e);
	if (r == ERR_NONE)
		r = exec_call_begin(&x, e);
	if (r == ERR_NONE)
		r = command_hear(&x, &names, e);
	return r == ERR_NONE ? command_answer(rq, &names, e) : r;
}
