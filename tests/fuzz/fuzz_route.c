/*
 * What nginx hands on of a request's head, a line each: method, path, query
 * string, Last-Event-ID. A decoded part never has a NUL and is UTF-8, unless it
 * is the path of a file.
 */
#include <fcgiapp.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/route.h"
#include "fcgi/sse.h"
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

		must(len <= n);
		must(utf8_ok(p->value, len) || strcmp(p->name, "path") == 0);
		must(strcmp(route_param(rq, p->name), p->value) == 0);
	}
}

static void check_query(struct request *rq)
{
	char small[8], large[4096];
	int64_t n = 7;
	uint64_t after = 0;
	struct errinfo e;

	if (route_query(rq, "a", small, sizeof(small)))
		must(utf8_ok(small, strlen(small)));
	if (route_query(rq, "label", large, sizeof(large)))
		must(utf8_ok(large, strlen(large)));
	if (route_query_int(rq, "limit", 1, 100, &n, &e) == ERR_NONE)
		must(n >= 1 && n <= 100);
	if (sse_after(rq, &after, &e) == ERR_NONE)
		must(after <= INT64_MAX);
}

/* The next line of ${text}, which is at its end afterwards. */
static char *next_line(char **text)
{
	char *line = *text;
	size_t n = strcspn(line, "\n");

	*text += n + (line[n] == '\n');
	line[n] = '\0';
	return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	OWN(request_free) struct request rq = {.client_fd = -1};
	OWN(buf_free) struct buf text = BUF_INIT(n);
	OWN(buf_free) struct buf query = BUF_INIT(n + 32);
	OWN(buf_free) struct buf last = BUF_INIT(n + 32);
	OWN(own_mem) char *decoded = NULL;
	char *envp[3] = {NULL}, *at, *method;
	FCGX_Request fcgi = {.envp = envp};
	struct errinfo e;

	buf_add(&text, data, n);
	if (route_decode(text.data, n, &decoded, &e) == ERR_NONE)
		must(strlen(decoded) <= n && utf8_ok(decoded, strlen(decoded)));
	else
		must(e.code == ERR_ARG);
	at = text.data;
	method = next_line(&at);
	if (route_find(&rq, method, next_line(&at), &e) == ERR_NONE)
		check_params(&rq, n);
	else
		must(rq.failure.code != HTTP_CODE_NONE);
	buf_addf(&query, "QUERY_STRING=%s", next_line(&at));
	buf_addf(&last, "HTTP_LAST_EVENT_ID=%s", next_line(&at));
	envp[0] = query.data;
	envp[1] = last.data;
	rq.fcgi = &fcgi;
	check_query(&rq);
	return 0;
}
