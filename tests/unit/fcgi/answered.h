/* A request whose answer is written by libfcgi into a socket and read here. */
#ifndef TESTS_UNIT_FCGI_ANSWERED_H
#define TESTS_UNIT_FCGI_ANSWERED_H

#include <fcgiapp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"
#include "fcgi/route.h"

#define FCGI_STDOUT_TYPE 6

struct answered {
	struct request rq;
	FCGX_Request fcgi;
	char *envp[8];
	int s[2];
	char text[65536];
};

/* What nginx sends for a request without parameters and body. */
static const unsigned char answered_request[] = {
    1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, /* begin, keep */
    1, 4, 0, 1, 0, 0, 0, 0,                         /* parameters */
    1, 5, 0, 1, 0, 0, 0, 0,                         /* body */
};

static inline void answered_open(struct answered *a)
{
	memset(a, 0, sizeof(*a));
	must(FCGX_Init() == 0);
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, a->s) == 0);
	must(write(a->s[1], answered_request, sizeof(answered_request)) ==
	     (ssize_t)sizeof(answered_request));
	FCGX_InitRequest(&a->fcgi, -1, 0);
	a->fcgi.ipcFd = a->s[0];
	a->fcgi.keepConnection = 1;
	must(FCGX_Accept_r(&a->fcgi) == 0);
	a->fcgi.envp = a->envp;
	a->rq.fcgi = &a->fcgi;
	a->rq.client_fd = -1;
	snprintf(a->rq.id, sizeof(a->rq.id), "0123456789abcdef");
}

/* What was answered, without the heads of FastCGI's records. */
static inline const char *answered_text(struct answered *a)
{
	unsigned char raw[sizeof(a->text)];
	size_t n = 0, at = 0, used = 0;
	ssize_t r;

	FCGX_FFlush(a->fcgi.out);
	shutdown(a->s[0], SHUT_WR);
	while ((r = read(a->s[1], raw + n, sizeof(raw) - n)) > 0)
		n += (size_t)r;
	while (at + 8 <= n) {
		size_t len = (size_t)raw[at + 4] << 8 | raw[at + 5];

		memcpy(a->text + used, raw + at + 8, len);
		used += len;
		at += 8 + len + raw[at + 6];
	}
	a->text[used] = '\0';
	return a->text;
}

static inline void answered_close(struct answered *a)
{
	FCGX_Free(&a->fcgi, 0);
	own_fd(&a->s[0]);
	own_fd(&a->s[1]);
	for (int i = 0; i < a->rq.nparams; i++)
		free(a->rq.params[i].value);
	json_out_free(&a->rq.failure.context);
	json_in_free(&a->rq.body);
	buf_free(&a->rq.headers);
}

#endif
