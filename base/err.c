#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum err(err_set)(struct errinfo *e, enum err code, int sys, const char *fmt,
		  ...)
{
	char text[sizeof(e->text)]; /* the arguments may be e->text */
	va_list ap;

	if (e == NULL)
		return code;
	va_start(ap, fmt);
	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		text[0] = '\0';
	va_end(ap);
	if (sys != 0) {
		const char *what = strerrordesc_np(sys);
		size_t n = strlen(text);

		snprintf(text + n, sizeof(text) - n, ": %s",
			 what != NULL ? what : "unknown");
	}
	e->code = code;
	e->sys = sys;
	memcpy(e->text, text, strlen(text) + 1);
	return code;
}

const char *err_name(enum err code)
{
	switch (code) {
	case ERR_NONE:
		return "none";
	case ERR_ARG:
		return "arg";
	case ERR_NOT_FOUND:
		return "not_found";
	case ERR_EXISTS:
		return "exists";
	case ERR_LIMIT:
		return "limit";
	case ERR_STATE:
		return "state";
	case ERR_DENIED:
		return "denied";
	case ERR_NOMEM:
		return "nomem";
	case ERR_IO:
		return "io";
	case ERR_STORE:
		return "store";
	case ERR_PEER:
		return "peer";
	case ERR_TIMEOUT:
		return "timeout";
	case ERR_GONE:
		return "gone";
	}
	return "unknown";
}

noreturn void err_bug(const char *what, const char *file, int line)
{
	fprintf(stderr, "bug: %s:%d: %s does not hold\n", file, line, what);
	abort();
}
