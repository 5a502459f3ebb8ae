/* The languages that a code context can have: sandbox/kernels.def. */
#ifndef FCGI_CODE_LANG_H
#define FCGI_CODE_LANG_H

#include <stdint.h>

#include "base/buf.h"

struct code_lang {
	const char *name;
	const char *aliases; /* separated by commas */
	const char *const *argv;
	uint32_t argc;
};

/** code_lang_find(s): The language of that name or alias, or NULL. */
const struct code_lang *code_lang_find(const char *s);

/** code_lang_names(b): All names and aliases, for people. */
void code_lang_names(struct buf *b);

#endif
