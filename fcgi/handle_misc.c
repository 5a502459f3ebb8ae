/* The service itself: health, ping, version. */
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/sandbox_link.h"

#define SMALL (4U * KIB)

enum err misc_health(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(SMALL);
	enum err r = route_unpark(rq, e);

	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_text(&o, "status", "healthy");
	json_out_text(&o, "version", WARREN_VERSION);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

/*
 * A name that is free is the tenant's to use, so it is reachable; an id must
 * be of the tenant's own.
 */
static enum err misc_reach(struct request *rq, struct errinfo *e)
{
	if (id_sandbox_ok(route_param(rq, "sandbox")))
		return link_find(rq, e);
	return ERR_NONE;
}

enum err misc_ping(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(SMALL);
	enum err r = misc_reach(rq, e);

	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_text(&o, "status", "healthy");
	json_out_text(&o, "message", "pong");
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

enum err misc_version(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(SMALL);
	enum err r = misc_reach(rq, e);

	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_text(&o, "version", WARREN_VERSION);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}
