/* Log lines on stderr: "role level text". Tenant bytes are escaped. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/**
 * log_open(role, level):
 * Name this program in its lines and set the least level that is written.
 * Owns: keeps ${role}, which must live as long as the program.
 */
void log_open(const char *role, enum log_level level);

/** log_line(level, fmt, ...): One line, one write. Threads: any. */
void log_line(enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** log_err(what, e): Log the failure ${e} of ${what}, once, at the edge. */
void log_err(const char *what, const struct errinfo *e);

#endif
