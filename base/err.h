/* One error type without allocation, owned by the caller. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdnoreturn.h>

#define FALLIBLE __attribute__((warn_unused_result))

enum err {
	ERR_NONE = 0,
	ERR_ARG,       /* the caller's value is not allowed */
	ERR_NOT_FOUND, /* no such thing, or not yours */
	ERR_EXISTS,    /* there already */
	ERR_LIMIT,     /* a limit is reached */
	ERR_STATE,     /* not possible in the present state */
	ERR_DENIED,    /* no right to do that */
	ERR_NOMEM,
	ERR_IO,      /* a system call failed; sys holds errno */
	ERR_STORE,   /* the database failed */
	ERR_PEER,    /* the peer broke the protocol or went away: drop it */
	ERR_TIMEOUT, /* a deadline passed */
	ERR_GONE     /* the sandbox or kernel ended */
};

/* text is for our log only; tenants see what fcgi/err_http maps from code. */
struct errinfo {
	enum err code;
	int sys;
	char text[256];
};

/**
 * err_set(e, code, sys, fmt, ...):
 * Fill ${e} (which may be NULL) and return ${code}. The arguments may
 * point into ${e}: err_set(e, e->code, 0, "mount: %s", e->text).
 */
enum err err_set(struct errinfo *e, enum err code, int sys, const char *fmt,
		 ...) __attribute__((format(printf, 4, 5)));

/* Lets the compiler see that what err_set returns is ${code}: not 0. */
static inline enum err err_is(enum err r, enum err code)
{
	(void)r;
	return code;
}
#define err_set(e, code, ...) err_is(err_set(e, code, __VA_ARGS__), code)

/** err_name(code): The constant's name in lower case, for logs. */
const char *err_name(enum err code);

/* A bug of ours ends the program, in release builds too. */
noreturn void err_bug(const char *what, const char *file, int line);
#define must(x) ((x) ? (void)0 : err_bug(#x, __FILE__, __LINE__))

#endif
