#include <string.h>

#include "fcgi/answer.h"
#include "fcgi/signed_link.h"

enum err signed_link_add(struct request *rq, struct ctl_link *l,
			 char token[CTL_LINK_LEN + 1], struct errinfo *e)
{
	enum err r;

	l->auth = rq->auth;
	memcpy(l->sandbox, rq->sandbox.id, sizeof(l->sandbox));
	r = ctl_link_add(rq->store, l, token, e);
	if (r == ERR_LIMIT)
		return err_http_fail(rq, e, HTTP_LIMIT_EXCEEDED,
				     "This sandbox has %d links and tickets "
				     "already",
				     CTL_LINKS_MAX);
	return r;
}
