#include <json-c/json.h>
#include <string.h>

#include "fcgi/body.h"
#include "fcgi/port_body.h"

#define PATH_MAX_BYTES 2000
#define INTERVAL_MIN_MS 10 /* the wire's clamp is at 100 */
#define INTERVAL_MAX_MS 10000

#define AT(member) offsetof(struct port_body, member)

static const struct json_field port_fields[] = {
    {"port", NULL, JSON_INT, AT(port), true, INT64_MIN, INT64_MAX},
    {"mode", NULL, JSON_TEXT, AT(mode), false, 0, 16},
    {"path", NULL, JSON_TEXT, AT(path), false, 0, PATH_MAX_BYTES},
    {"status", NULL, JSON_ANY, AT(status), false, 0, 0},
    {"statusMin", NULL, JSON_INT, AT(status_min), false, 100, 599},
    {"statusMax", NULL, JSON_INT, AT(status_max), false, 100, 599},
    {"interval", "intervalMs", JSON_INT, AT(interval_ms), false, 0, INT32_MAX},
    {"processId", NULL, JSON_TEXT, AT(process_id), false, 0, ID_MAX},
    {"timeoutMs", "timeout", JSON_SKIP, 0, false, 0, 0},
};

#undef AT

struct port_status {
	int64_t min;
	int64_t max;
};

static const struct json_field status_fields[] = {
    {"min", NULL, JSON_INT, offsetof(struct port_status, min), true, 100, 599},
    {"max", NULL, JSON_INT, offsetof(struct port_status, max), true, 100, 599},
};

static enum err port_statuses(struct request *rq, struct port_body *b,
			      struct errinfo *e)
{
	struct port_status s = {0};
	enum err r;

	if (b->status == NULL)
		return ERR_NONE;
	if (json_object_is_type(b->status, json_type_int)) {
		b->status_min = b->status_max = json_object_get_int64(
		    b->status);
		if (b->status_min < 100 || b->status_min > 599)
			return err_http_field(rq, e, "status",
					      "must be from 100 to 599");
		return ERR_NONE;
	}
	if (!json_object_is_type(b->status, json_type_object))
		return err_http_field(rq, e, "status",
				      "must be a number or {min, max}");
	r = body_part(rq, b->status, status_fields, JSON_COUNT(status_fields),
		      &s, e);
	b->status_min = s.min;
	b->status_max = s.max;
	return r;
}

static bool path_ok(const char *path)
{
	if (path[0] != '/')
		return false;
	for (const char *p = path; *p != '\0'; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return false;
	return true;
}

static enum err port_check(struct request *rq, struct port_body *b,
			   struct errinfo *e)
{
	if (b->port < 1 || b->port > 65535)
		return err_http_fail(rq, e, HTTP_INVALID_PORT,
				     "Invalid port: must be from 1 to 65535");
	if (strcmp(b->mode, "http") != 0 && strcmp(b->mode, "tcp") != 0)
		return err_http_field(rq, e, "mode", "must be http or tcp");
	if (!path_ok(b->path))
		return err_http_field(rq, e, "path",
				      "must start with / and have no spaces");
	if (b->interval_ms < INTERVAL_MIN_MS)
		b->interval_ms = INTERVAL_MIN_MS;
	if (b->interval_ms > INTERVAL_MAX_MS)
		b->interval_ms = INTERVAL_MAX_MS;
	return port_statuses(rq, b, e);
}

enum err port_body_part(struct request *rq, struct json_object *obj,
			struct port_body *b, struct errinfo *e)
{
	enum err r = body_part(rq, obj, port_fields, JSON_COUNT(port_fields), b,
			       e);

	return r == ERR_NONE ? port_check(rq, b, e) : r;
}

enum err port_body_read(struct request *rq, struct port_body *b,
			struct errinfo *e)
{
	enum err r = body_json(rq, port_fields, JSON_COUNT(port_fields), b, e);

	return r == ERR_NONE ? port_check(rq, b, e) : r;
}

void port_body_fill(const struct port_body *b, struct port_wait *w)
{
	w->port = (uint16_t)b->port;
	w->http = strcmp(b->mode, "http") == 0;
	w->path = b->path;
	w->status_min = b->status_min;
	w->status_max = b->status_max;
	w->interval_ms = b->interval_ms;
}
