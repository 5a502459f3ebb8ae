#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"

static const char *log_role = "warren";
static enum log_level log_max = LOG_INFO;

void log_open(const char *role, enum log_level level)
{
	log_role = role;
	log_max = level;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	static const char *const names[] = {"error", "warn", "info", "debug"};
	char line[1024];
	va_list ap;
	int n, m;

	if (level > log_max)
		return;
	n = snprintf(line, sizeof(line), "%s %s ", log_role, names[level]);
	va_start(ap, fmt);
	m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	if (m < 0)
		return;
	n += m;
	if ((size_t)n > sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	for (int i = 0; i < n; i++) {
		unsigned char c = (unsigned char)line[i];

		if (c < 0x20 || c == 0x7f)
			line[i] = '?';
	}
	line[n] = '\n';
	if (write(STDERR_FILENO, line, (size_t)n + 1) < 0)
		return;
}

void log_err(const char *what, const struct errinfo *e)
{
	log_line(LOG_ERROR, "%s: %s: %s", what, err_name(e->code), e->text);
}
