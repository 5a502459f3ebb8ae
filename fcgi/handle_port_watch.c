/* The wire's port watch: events until a port answers. */
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/exec_tell.h"
#include "fcgi/handle_process.h"
#include "fcgi/pool.h"
#include "fcgi/port_body.h"
#include "fcgi/sse.h"

#define WATCH_INTERVAL_MS 500
#define WATCH_INTERVAL_MIN_MS 100

struct port_watch {
	struct sse sse;
	struct port_body body;
	struct node_process process;
};

static void port_watch_free(struct port_watch *x)
{
	node_process_free(&x->process);
}

static enum err watch_send(struct port_watch *x, const char *type,
			   const struct port_wait *w, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);
	bool exited = w->how == PORT_EXITED;
	enum end_reason reason = w->end.reason;

	json_out_object(&o, NULL);
	json_out_text(&o, "type", type);
	json_out_int(&o, "port", w->port);
	if (w->how == PORT_READY && w->status > 0)
		json_out_int(&o, "statusCode", w->status);
	if (exited && (reason == END_NONE || reason == END_SANDBOX_GONE))
		json_out_null(&o, "exitCode");
	else if (exited)
		json_out_int(&o, "exitCode",
			     exec_exit_code(reason, w->end.exit_code));
	if (exited)
		json_out_text(&o, "reason",
			      end_reason_name(reason != END_NONE
						  ? reason
						  : END_SANDBOX_GONE));
	json_out_now(&o);
	json_out_end(&o);
	return sse_send(&x->sse, 0, &o, e);
}

static enum err watch_idle(void *ctx, struct errinfo *e)
{
	struct port_watch *x = ctx;

	return sse_beat(&x->sse, e);
}

/* The process that it is about: the ended one's end is known at once. */
static enum err watch_process(struct request *rq, struct port_watch *x,
			      struct port_wait *w, struct errinfo *e)
{
	struct exec_status s;
	enum err r;

	if (x->body.process_id == NULL)
		return link_find(rq, e);
	r = process_named(rq, x->body.process_id, &x->process, &s, e);
	if (r != ERR_NONE)
		return r;
	w->exec = x->process.exec;
	if (!s.ended)
		return ERR_NONE;
	w->how = PORT_EXITED;
	w->end.exit_code = s.exit_code;
	w->end.reason = s.reason;
	return ERR_NONE;
}

enum err port_watch(struct request *rq, struct errinfo *e)
{
	OWN(port_watch_free)
	struct port_watch x = {.body = PORT_BODY_INIT};
	struct port_wait w = {
	    .rq = rq, .until_ms = CLOCK_NEVER, .idle = watch_idle, .ctx = &x};
	enum err r;

	err_http_operation(rq, "port.watch");
	x.body.interval_ms = WATCH_INTERVAL_MS;
	r = port_body_read(rq, &x.body, e);
	if (r == ERR_NONE)
		r = watch_process(rq, &x, &w, e);
	if (r == ERR_NONE)
		r = sse_begin(&x.sse, rq, e);
	if (r != ERR_NONE)
		return r;
	if (x.body.interval_ms < WATCH_INTERVAL_MIN_MS)
		x.body.interval_ms = WATCH_INTERVAL_MIN_MS;
	port_body_fill(&x.body, &w);
	r = watch_send(&x, "watching", &(struct port_wait){.port = w.port}, e);
	if (r == ERR_NONE && w.how == 0)
		r = port_wait_run(&w, e);
	if (r == ERR_NONE)
		r = watch_send(&x,
			       w.how == PORT_READY ? "ready" : "process_exited",
			       &w, e);
	return link_client_gone(e) ? ERR_NONE : r;
}
