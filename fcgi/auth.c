#include <string.h>
#include <strings.h>

#include "fcgi/answer.h"
#include "fcgi/auth.h"

const char *auth_bearer(const char *header)
{
	if (header == NULL || strncasecmp(header, "Bearer ", 7) != 0)
		return NULL;
	header += 7;
	while (*header == ' ')
		header++;
	return *header != '\0' ? header : NULL;
}

static bool auth_allows(enum key_scope has, enum route_scope wants)
{
	switch (wants) {
	case SCOPE_OPEN:
		return true;
	case SCOPE_READ:
		return has >= KEY_READ;
	case SCOPE_EXEC:
		return has >= KEY_EXEC;
	case SCOPE_MANAGE:
		return has >= KEY_MANAGE;
	}
	return false;
}

enum err auth_check(struct request *rq, struct errinfo *e)
{
	const char *key;
	enum err r;

	if (rq->route->scope == SCOPE_OPEN)
		return ERR_NONE;
	key = auth_bearer(route_header(rq, "HTTP_AUTHORIZATION"));
	if (key == NULL) {
		answer_header(rq, "WWW-Authenticate", "Bearer");
		return err_http_fail(rq, e, HTTP_UNAUTHORIZED,
				     "An API key is needed");
	}
	r = ctl_key_check(rq->store, key, &rq->auth, e);
	if (r == ERR_DENIED || r == ERR_NOT_FOUND || r == ERR_ARG) {
		answer_header(rq, "WWW-Authenticate", "Bearer");
		return err_http_fail(rq, e, HTTP_UNAUTHORIZED,
				     "The API key is not valid");
	}
	if (r != ERR_NONE)
		return r;
	if (!auth_allows(rq->auth.scope, rq->route->scope))
		return err_http_fail(rq, e, HTTP_FORBIDDEN,
				     "This API key may not do that");
	return ERR_NONE;
}
