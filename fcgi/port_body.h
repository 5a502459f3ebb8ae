/* What a wait for a port is asked with. */
#ifndef FCGI_PORT_BODY_H
#define FCGI_PORT_BODY_H

#include "fcgi/port_wait.h"

struct port_body {
	int64_t port;
	const char *mode;
	const char *path;
	struct json_object *status; /* a number, or {min, max} */
	int64_t status_min;
	int64_t status_max;
	int64_t interval_ms;
	const char *process_id; /* of a watch */
};

#define PORT_BODY_INIT                                                         \
	{                                                                      \
		.mode = "http", .path = "/", .status_min = 200,                \
		.status_max = 399, .interval_ms = 100                          \
	}

/** port_body_part(rq, obj, b, e): From a member of a body; 400 noted. */
FALLIBLE enum err port_body_part(struct request *rq, struct json_object *obj,
				 struct port_body *b, struct errinfo *e);

/** port_body_read(rq, b, e): The whole body. */
FALLIBLE enum err port_body_read(struct request *rq, struct port_body *b,
				 struct errinfo *e);

/** port_body_fill(b, w): Port, mode, path, statuses, interval of ${w}. */
void port_body_fill(const struct port_body *b, struct port_wait *w);

#endif
