/* Links to a private preview. */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/port_row.h"
#include "fcgi/preview_access.h"
#include "fcgi/signed_link.h"
#include "fcgi/until.h"
#include "store/ctl_link.h"

#define LINK_TTL_MS (INT64_C(3600) * 1000)
#define LINK_TTL_MAX_MS (INT64_C(30) * 86400 * 1000)

struct view_body {
	const char *ttl;
	const char *expires;
	const char *user;
	const char *name; /* of the port; "": its own */
	bool once;
};

#define AT(member) offsetof(struct view_body, member)

static const struct json_field view_fields[] = {
    {"ttl", NULL, JSON_TEXT, AT(ttl), false, 1, 32},
    {"expiresAt", NULL, JSON_TEXT, AT(expires), false, 1, 40},
    {"user", NULL, JSON_TEXT, AT(user), false, 1, PREVIEW_USER_MAX},
    {"name", NULL, JSON_TEXT, AT(name), false, 0, CTL_PORT_ALIAS_MAX},
    {"once", NULL, JSON_BOOL, AT(once), false, 0, 0},
};

#undef AT

static enum err view_read(struct request *rq, struct ctl_port *p,
			  struct ctl_link *l, struct errinfo *e)
{
	struct view_body in = {.user = "", .name = ""};
	char path[PREVIEW_USER_MAX + 16];
	enum err r = body_json(rq, view_fields, JSON_COUNT(view_fields), &in,
			       e);

	if (r == ERR_NONE)
		r = until_read(rq,
			       &(struct until){in.ttl, in.expires, LINK_TTL_MS,
					       LINK_TTL_MAX_MS},
			       &l->expires_ms, e);
	if (r != ERR_NONE)
		return r;
	for (const char *c = in.user; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			return err_http_field(rq, e, "user",
					      "must be printable ASCII: it "
					      "becomes a header");
	r = port_row_find(rq, in.name, p, e);
	if (r == ERR_NONE && !p->is_private)
		return err_http_fail(rq, e, HTTP_VALIDATION_FAILED,
				     "Port %u is public: its URL is enough",
				     p->port);
	if (r != ERR_NONE)
		return r;
	snprintf(path, sizeof(path), "%u %s", p->port, in.user);
	snprintf(l->method, sizeof(l->method), "%s",
		 in.once ? PREVIEW_ONCE : PREVIEW_VIEW);
	l->path = strdup(path);
	return l->path != NULL ? ERR_NONE : err_set(e, ERR_NOMEM, 0, "link");
}

enum err port_link(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);
	OWN(ctl_link_free) struct ctl_link l = {.path = NULL};
	OWN(buf_free) struct buf url = BUF_INIT(1024);
	char token[CTL_LINK_LEN + 1];
	struct ctl_port p;
	enum err r;

	err_http_operation(rq, "port.link");
	r = port_row_find(rq, "", &p, e);
	if (r == ERR_NONE)
		r = view_read(rq, &p, &l, e);
	if (r != ERR_NONE)
		return r;
	r = signed_link_add(rq, &l, token, e);
	if (r != ERR_NONE)
		return r;
	port_row_url(rq, &p, &url);
	buf_addf(&url, "?%s=%s", PREVIEW_QUERY, token);
	json_out_object(&o, NULL);
	json_out_text(&o, "url", buf_str(&url));
	json_out_text(&o, "id", l.id);
	json_out_text(&o, "token", token);
	json_out_time(&o, "expiresAt", l.expires_ms);
	json_out_end(&o);
	return answer_json(rq, 201, &o, e);
}
