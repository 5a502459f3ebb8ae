#include <errno.h>
#include <fcgiapp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/cors.h"
#include "fcgi/route.h"
#include "fcgi/utf8.h"

#define PATH_MAX_BYTES 16384U
#define SEGMENTS_MAX 24

const struct route route_table[] = {
#define ROUTE(method, pattern, scope, body_max, fn, text)                      \
	{METHOD_##method, pattern, SCOPE_##scope, body_max, fn, text},
#include "fcgi/routes.def"
#undef ROUTE
};

/* What a path takes; a browser asks so before it sends a key. */
static enum err route_tell(struct request *rq, struct errinfo *e)
{
	(void)e;
	answer_empty(rq, 204);
	return ERR_NONE;
}

static const struct route route_options = {
    .pattern = "OPTIONS", .scope = SCOPE_OPEN, .fn = route_tell};

const size_t route_count = sizeof(route_table) / sizeof(route_table[0]);

static const char *const method_names[] = {
    "", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE",
};

#define METHOD_COUNT (sizeof(method_names) / sizeof(method_names[0]))

/* ---- decoding ---- */

static int route_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Any bytes but NUL: the name of a file. */
static enum err route_bytes(const char *s, size_t n, char **out,
			    struct errinfo *e)
{
	OWN(own_mem) char *to = malloc(n + 1);
	size_t used = 0;

	if (to == NULL)
		return err_set(e, ERR_NOMEM, 0, "path");
	for (size_t i = 0; i < n; i++) {
		int high, low;

		if (s[i] != '%') {
			to[used++] = s[i];
			continue;
		}
		high = n - i > 2 ? route_hex(s[i + 1]) : -1;
		low = n - i > 2 ? route_hex(s[i + 2]) : -1;
		if (high < 0 || low < 0)
			return err_set(e, ERR_ARG, 0, "bad percent-encoding");
		to[used++] = (char)(high * 16 + low);
		i += 2;
	}
	to[used] = '\0';
	if (memchr(to, 0, used) != NULL)
		return err_set(e, ERR_ARG, 0, "NUL in the path");
	*out = STEAL(to);
	return ERR_NONE;
}

enum err route_decode(const char *s, size_t n, char **out, struct errinfo *e)
{
	OWN(own_mem) char *to = NULL;
	enum err r = route_bytes(s, n, &to, e);

	if (r != ERR_NONE)
		return r;
	if (!utf8_ok(to, strlen(to)))
		return err_set(e, ERR_ARG, 0, "the path is not UTF-8");
	*out = STEAL(to);
	return ERR_NONE;
}

/* ---- matching ---- */

struct segments {
	const char *at[SEGMENTS_MAX + 1];
	size_t len[SEGMENTS_MAX];
	int n;
};

/* Split at '/', without the leading one; false when there are too many. */
static bool route_split(const char *path, size_t n, struct segments *out)
{
	size_t from = 1;

	out->n = 0;
	if (n == 0 || path[0] != '/')
		return false;
	for (size_t i = 1; i <= n; i++) {
		if (i < n && path[i] != '/')
			continue;
		if (out->n == SEGMENTS_MAX)
			return true; /* a tail takes the rest */
		out->at[out->n] = path + from;
		out->len[out->n++] = i - from;
		from = i + 1;
	}
	return true;
}

static bool route_is_param(const struct segments *p, int i)
{
	return p->len[i] > 2 && p->at[i][0] == '{';
}

static bool route_is_tail(const struct segments *p, int i)
{
	return route_is_param(p, i) && p->at[i][p->len[i] - 2] == '*';
}

/*
 * How well ${path} fits ${pattern}: 0 not at all; else one bit for each
 * literal segment, the first ones weigh most.
 */
static uint32_t route_fit(const struct segments *pattern,
			  const struct segments *path)
{
	uint32_t fit = 1;

	for (int i = 0; i < pattern->n; i++) {
		if (i >= path->n)
			return 0;
		if (route_is_tail(pattern, i))
			return fit;
		if (route_is_param(pattern, i)) {
			if (path->len[i] == 0)
				return 0;
			continue;
		}
		if (pattern->len[i] != path->len[i] ||
		    memcmp(pattern->at[i], path->at[i], path->len[i]) != 0)
			return 0;
		fit |= (uint32_t)1 << (31 - i);
	}
	return path->n == pattern->n ? fit : 0;
}

static enum err route_bind(struct request *rq, const struct segments *pattern,
			   const struct segments *path, const char *end,
			   struct errinfo *e)
{
	for (int i = 0; i < pattern->n; i++) {
		struct route_param *p = &rq->params[rq->nparams];
		bool tail = route_is_tail(pattern, i);
		size_t len = tail ? (size_t)(end - path->at[i]) : path->len[i];
		enum err r;

		if (!route_is_param(pattern, i))
			continue;
		must(rq->nparams < ROUTE_PARAMS_MAX);
		snprintf(p->name, sizeof(p->name), "%.*s",
			 (int)pattern->len[i] - (tail ? 3 : 2),
			 pattern->at[i] + 1);
		r = tail ? route_bytes(path->at[i], len, &p->value, e)
			 : route_decode(path->at[i], len, &p->value, e);
		if (r == ERR_ARG)
			return err_http_field(rq, e, p->name,
					      "is not a valid URL part");
		if (r != ERR_NONE)
			return r;
		rq->nparams++;
	}
	return ERR_NONE;
}

static enum err route_none(struct request *rq, const char *method,
			   unsigned allowed, struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(128);

	if (allowed == 0)
		return err_http_fail(rq, e, HTTP_NOT_FOUND,
				     "The requested endpoint was not found");
	for (unsigned m = 1; m < METHOD_COUNT; m++)
		if ((allowed & (1U << m)) != 0)
			buf_addf(&b, "%s%s", b.len > 0 ? ", " : "",
				 method_names[m]);
	answer_header(rq, "Allow", "%s", buf_str(&b));
	if (strcmp(method, "OPTIONS") == 0) {
		cors_preflight(rq, buf_str(&b));
		rq->route = &route_options;
		return ERR_NONE;
	}
	err_http_text(rq, "allow", buf_str(&b));
	(void)err_http_fail(rq, e, HTTP_METHOD_NOT_ALLOWED,
			    "This endpoint does not take that method");
	return ERR_STATE;
}

enum err route_find(struct request *rq, const char *method, const char *path,
		    struct errinfo *e)
{
	size_t n = strcspn(path, "?#");
	bool slash = n > 1 && path[n - 1] == '/';
	struct segments whole = {0}, bare = {0}, pattern = {0};
	const struct route *best = NULL;
	uint32_t best_fit = 0;
	unsigned allowed = 0;

	if (n > PATH_MAX_BYTES || !route_split(path, n, &whole) ||
	    !route_split(path, slash ? n - 1 : n, &bare))
		return route_none(rq, method, 0, e);
	for (size_t i = 0; i < route_count; i++) {
		const struct route *at = &route_table[i];
		const char *p = at->pattern;
		uint32_t fit;

		route_split(p, strlen(p), &pattern);
		fit = route_fit(&pattern, route_is_tail(&pattern, pattern.n - 1)
					      ? &whole
					      : &bare);
		if (fit == 0)
			continue;
		allowed |= 1U << at->method;
		if (strcmp(method_names[at->method], method) == 0 &&
		    fit > best_fit) {
			best = at;
			best_fit = fit;
		}
	}
	if (best == NULL)
		return route_none(rq, method, allowed, e);
	rq->route = best;
	rq->method = best->method;
	route_split(best->pattern, strlen(best->pattern), &pattern);
	return route_bind(rq, &pattern,
			  route_is_tail(&pattern, pattern.n - 1) ? &whole
								 : &bare,
			  path + n, e);
}

/* ---- what handlers read ---- */

const char *route_param(const struct request *rq, const char *name)
{
	for (int i = 0; i < rq->nparams; i++)
		if (strcmp(rq->params[i].name, name) == 0)
			return rq->params[i].value;
	must(!"no such path parameter");
	return "";
}

enum err route_param_add(struct request *rq, const char *name,
			 const char *value, struct errinfo *e)
{
	struct route_param *p = &rq->params[rq->nparams];

	must(rq->nparams < ROUTE_PARAMS_MAX);
	p->value = strdup(value);
	if (p->value == NULL)
		return err_set(e, ERR_NOMEM, 0, "path parameter");
	snprintf(p->name, sizeof(p->name), "%s", name);
	rq->nparams++;
	return ERR_NONE;
}

bool route_tls(const struct request *rq)
{
	const char *came = route_header(rq, "REQUEST_SCHEME");

	return came != NULL && strcmp(came, "https") == 0;
}

void route_origin_of(const struct request *rq, const char *scheme,
		     const char *host, struct buf *out)
{
	const char *port = route_header(rq, "SERVER_PORT");
	bool tls = route_tls(rq);

	buf_addf(out, "%s%s://%s", scheme, tls ? "s" : "", host);
	if (port == NULL)
		buf_addf(out, ":%d", rq->worker->port);
	else if (strcmp(port, tls ? "443" : "80") != 0)
		buf_addf(out, ":%s", port);
}

void route_origin(const struct request *rq, const char *scheme, struct buf *out)
{
	const char *host = route_header(rq, "SERVER_NAME");

	route_origin_of(rq, scheme, host != NULL ? host : rq->worker->domain,
			out);
}

const char *route_header(const struct request *rq, const char *name)
{
	return rq->fcgi != NULL ? FCGX_GetParam(name, rq->fcgi->envp) : NULL;
}
