#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum err err_set(struct errinfo *e, enum err code, int sys, const char *fmt,
		 ...)
{
	va_list ap;

	if (e == NULL)
		return code;
	e->code = code;
	e->sys = sys;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	if (sys != 0) {
		size_t n = strlen(e->text);

		if (n + 2 < sizeof(e->text))
			snprintf(e->text + n, sizeof(e->text) - n, ": %s",
				 strerrordesc_np(sys));
	}
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
