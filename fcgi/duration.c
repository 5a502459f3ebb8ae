#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/duration.h"

#define DURATION_MAX_MS (INT64_C(3650) * 86400000)

static const struct duration_unit {
	const char *name;
	int64_t ms;
} duration_units[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};

#define UNITS (sizeof(duration_units) / sizeof(duration_units[0]))

bool duration_parse(const char *text, int64_t *ms)
{
	int64_t v = 0;
	const char *p = text;

	while (*p >= '0' && *p <= '9' && v <= DURATION_MAX_MS)
		v = v * 10 + (*p++ - '0');
	if (p == text || v > DURATION_MAX_MS)
		return false;
	for (size_t i = 0; i < UNITS; i++) {
		if (strcmp(duration_units[i].name, p) != 0)
			continue;
		if (v > DURATION_MAX_MS / duration_units[i].ms)
			return false;
		*ms = v * duration_units[i].ms;
		return true;
	}
	return false;
}

void duration_show(int64_t ms, char *out, size_t size)
{
	for (size_t i = 0; i < UNITS; i++) {
		if (ms % duration_units[i].ms != 0)
			continue;
		snprintf(out, size, "%" PRId64 "%s", ms / duration_units[i].ms,
			 duration_units[i].name);
		return;
	}
}
