/*
 * A method and a path, separated by a newline, as nginx hands them on.
 * A decoded part never has a NUL and is always UTF-8.
 */
#include <string.h>

#include "base/own.h"
#include "fcgi/route.h"
#include "fcgi/utf8.h"
#include "tests/fuzz/fuzz.h"

static void request_free(struct request *rq)
{
	for (int i = 0; i < rq->nparams; i++)
		free(rq->params[i].value);
	json_out_free(&rq->failure.context);
	buf_free(&rq->headers);
}

static void check_params(const struct request *rq, size_t n)
{
	must(rq->route != NULL && rq->method == rq->route->method);
	for (int i = 0; i < rq->nparams; i++) {
		const struct route_param *p = &rq->params[i];
		size_t len = strlen(p->value);

		must(len <= n && utf8_ok(p->value, len));
		must(strcmp(route_param(rq, p->name), p->value) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	OWN(request_free) struct request rq = {.client_fd = -1};
	OWN(buf_free) struct buf text = BUF_INIT(n);
	OWN(own_mem) char *decoded = NULL;
	struct errinfo e;
	char *path;

	buf_add(&text, data, n);
	if (route_decode(text.data, n, &decoded, &e) == ERR_NONE)
		must(strlen(decoded) <= n && utf8_ok(decoded, strlen(decoded)));
	else
		must(e.code == ERR_ARG);
	path = strchr(text.data, '\n');
	if (path == NULL)
		return 0;
	*path++ = '\0';
	if (route_find(&rq, text.data, path, &e) == ERR_NONE)
		check_params(&rq, n);
	else
		must(rq.failure.code != HTTP_CODE_NONE);
	return 0;
}
