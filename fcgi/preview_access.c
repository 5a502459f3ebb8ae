#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/auth.h"
#include "fcgi/preview_access.h"
#include "store/ctl_link.h"

bool preview_access_page(const struct request *rq)
{
	const char *accept = route_header(rq, "HTTP_ACCEPT");

	return accept != NULL && strstr(accept, "text/html") != NULL;
}

static enum err access_denied(struct errinfo *e)
{
	return err_set(e, ERR_DENIED, 0, "private preview");
}

/* ---- what it shows ---- */

static enum err access_key(struct request *rq, struct preview_guest *out,
			   struct errinfo *e)
{
	const char *key = auth_bearer(route_header(rq, "HTTP_AUTHORIZATION"));
	struct ctl_auth auth;
	enum err r;

	if (key == NULL || strncmp(key, "wrn_", 4) != 0)
		return access_denied(e);
	r = ctl_key_check(rq->store, key, &auth, e);
	if (r == ERR_NOT_FOUND || r == ERR_ARG)
		return access_denied(e);
	if (r == ERR_NONE && strcmp(auth.tenant, rq->auth.tenant) != 0)
		return access_denied(e);
	out->by_key = r == ERR_NONE;
	return r;
}

static const char *access_cookie_name(const struct request *rq)
{
	return route_tls(rq) ? PREVIEW_COOKIE_TLS : PREVIEW_COOKIE;
}

/* The value of our cookie. */
static bool access_cookie(const struct request *rq, char *out, size_t size)
{
	const char *name = access_cookie_name(rq);
	const char *c = route_header(rq, "HTTP_COOKIE");

	for (; c != NULL; c = strchr(c, ';')) {
		size_t n = strlen(name);

		c += strspn(c, "; ");
		if (strncmp(c, name, n) != 0 || c[n] != '=')
			continue;
		c += n + 1;
		n = strcspn(c, "; ");
		if (n >= size)
			return false;
		memcpy(out, c, n);
		out[n] = '\0';
		return true;
	}
	return false;
}

/* "<port> <user>" */
static bool access_for(const struct ctl_link *l, const struct ctl_port *p,
		       struct preview_guest *out)
{
	char *user;
	long port = strtol(l->path, &user, 10);

	if (strcmp(l->sandbox, p->sandbox) != 0 || port != p->port ||
	    *user != ' ' || strlen(user + 1) > PREVIEW_USER_MAX)
		return false;
	snprintf(out->user, sizeof(out->user), "%s", user + 1);
	return true;
}

static enum err access_link(struct request *rq, const char *token,
			    const struct ctl_port *p, struct ctl_link *l,
			    struct preview_guest *out, struct errinfo *e)
{
	enum err r = ctl_link_use(rq->store, token, l, e);

	if (r == ERR_NOT_FOUND || (r == ERR_NONE && !access_for(l, p, out)))
		return access_denied(e);
	return r;
}

/* ---- a browser that comes by a link ---- */

/* The address without our token. */
static void access_address(const struct request *rq, struct buf *out)
{
	static const char name[] = PREVIEW_QUERY "=";
	const char *uri = route_header(rq, "REQUEST_URI");
	const char *q = uri != NULL ? strchr(uri, '?') : NULL;
	char sep = '?';

	/* Whole: "//other.host/" would lead there. */
	route_origin(rq, "http", out);
	if (q == NULL) {
		buf_adds(out, uri != NULL ? uri : "/");
		return;
	}
	buf_add(out, uri, (size_t)(q - uri));
	while (*q != '\0') {
		size_t n = strcspn(++q, "&");

		if (strncmp(q, name, sizeof(name) - 1) != 0) {
			buf_addc(out, sep);
			buf_add(out, q, n);
			sep = '&';
		}
		q += n;
	}
}

/* The link itself, or, for one that opens once, another in its place. */
static enum err access_exchange(struct request *rq, struct ctl_link *l,
				char token[CTL_LINK_LEN + 1], struct errinfo *e)
{
	enum err r;

	if (strcmp(l->method, PREVIEW_ONCE) != 0)
		return ERR_NONE;
	r = ctl_link_remove(rq->store, l->auth.tenant, l->sandbox, l->id, e);
	if (r == ERR_NOT_FOUND) /* somebody else was quicker */
		return access_denied(e);
	if (r != ERR_NONE)
		return r;
	snprintf(l->method, sizeof(l->method), "%s", PREVIEW_VIEW);
	return ctl_link_add(rq->store, l, token, e);
}

static enum err access_enter(struct request *rq, struct ctl_link *l,
			     char token[CTL_LINK_LEN + 1],
			     struct preview_guest *out, struct errinfo *e)
{
	OWN(buf_free) struct buf to = BUF_INIT(2000);
	enum err r = access_exchange(rq, l, token, e);

	if (r != ERR_NONE)
		return r;
	access_address(rq, &to);
	answer_header(rq, "Location", "%s", buf_ok(&to) ? buf_str(&to) : "/");
	answer_header(rq, "Set-Cookie",
		      "%s=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Lax%s",
		      access_cookie_name(rq), token,
		      (long long)((l->expires_ms - clock_unix_ms()) / 1000),
		      route_tls(rq) ? "; Secure" : "");
	answer_header(rq, "Cache-Control", "no-store");
	answer_header(rq, "Referrer-Policy", "no-referrer");
	answer_empty(rq, 303);
	out->told = true;
	return ERR_NONE;
}

static bool access_is_get(const struct request *rq)
{
	const char *method = route_header(rq, "REQUEST_METHOD");

	return method != NULL &&
	       (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0);
}

/* By path it is one origin with others: a cookie would be theirs, too. */
static bool access_cookies(const struct request *rq)
{
	const char *prefix = route_header(rq, "WARREN_PREVIEW_PREFIX");

	return prefix == NULL || prefix[0] == '\0';
}

static enum err access_query(struct request *rq, const struct ctl_port *p,
			     struct preview_guest *out, struct errinfo *e)
{
	OWN(ctl_link_free) struct ctl_link l = {.path = NULL};
	char token[CTL_LINK_LEN + 1];
	bool page = preview_access_page(rq) && access_is_get(rq) &&
		    access_cookies(rq);
	enum err r;

	if (!route_query(rq, PREVIEW_QUERY, token, sizeof(token)))
		return access_denied(e);
	r = access_link(rq, token, p, &l, out, e);
	if (r != ERR_NONE || (!page && strcmp(l.method, PREVIEW_VIEW) == 0))
		return r;
	return page ? access_enter(rq, &l, token, out, e) : access_denied(e);
}

static enum err access_token(struct request *rq, const struct ctl_port *p,
			     struct preview_guest *out, struct errinfo *e)
{
	OWN(ctl_link_free) struct ctl_link l = {.path = NULL};
	const char *header = route_header(rq, "HTTP_X_WARREN_TOKEN");
	char cookie[CTL_LINK_LEN + 1];
	enum err r;

	if (header == NULL &&
	    (!access_cookies(rq) || !access_cookie(rq, cookie, sizeof(cookie))))
		return access_denied(e);
	r = access_link(rq, header != NULL ? header : cookie, p, &l, out, e);
	if (r == ERR_NONE && strcmp(l.method, PREVIEW_VIEW) != 0)
		return access_denied(e);
	return r;
}

enum err preview_access(struct request *rq, const struct ctl_port *p,
			struct preview_guest *out, struct errinfo *e)
{
	enum err r;

	*out = (struct preview_guest){.told = false};
	if (!p->is_private)
		return ERR_NONE;
	r = access_key(rq, out, e);
	if (r == ERR_DENIED)
		r = access_query(rq, p, out, e);
	if (r == ERR_DENIED)
		r = access_token(rq, p, out, e);
	return r;
}
