/*
 * D/warren.ini: what is set for the whole machine. Several programs read it,
 * each the sections that are its own; what is no section at all is wrong to
 * all of them.
 */
#ifndef BASE_CONF_H
#define BASE_CONF_H

#include <stdbool.h>

#include "base/err.h"

#define CONF_WRONG_MAX 160

/**
 * conf_take(arg, section, key, value, wrong):
 * A line of the file, also one of others' sections, which are to be passed
 * over: true. False: it is wrong, and ${wrong} says what is, as "is no number"
 * said of the value, or about the key when it begins with the key's name.
 */
typedef bool conf_take(void *arg, const char *section, const char *key,
		       const char *value, char wrong[CONF_WRONG_MAX]);

/**
 * conf_read(data_dir, take, arg, e):
 * Give each line of ${data_dir}/warren.ini to ${take}; none without a file.
 * Errors: ERR_ARG names file, line, section, key and what is wrong;
 * ERR_DENIED when others than root or this user may write the file; ERR_IO.
 */
FALLIBLE enum err conf_read(const char *data_dir, conf_take *take, void *arg,
			    struct errinfo *e);

/**
 * conf_wrong(wrong, fmt, ...):
 * Write what is wrong; false, so that it can be returned.
 */
bool conf_wrong(char wrong[CONF_WRONG_MAX], const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** conf_number(text, min, max, out): Decimal digits; false if it is none. */
bool conf_number(const char *text, unsigned long min, unsigned long max,
		 unsigned long *out);

#endif
