#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/history_conf.h"

#define TIME_MAX_S (INT64_C(100) * 365 * 24 * 3600)

static bool set_number(const char *text, int64_t max, int64_t *out,
		       const char **rest)
{
	char *end;
	long long v;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno != 0 || v > max)
		return false;
	*out = v;
	*rest = end;
	return true;
}

static bool set_time(const char *text, int64_t *ms)
{
	static const struct {
		const char *unit;
		int64_t s;
	} units[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 24 * 3600}};
	const char *rest;
	int64_t v;

	if (!set_number(text, TIME_MAX_S, &v, &rest))
		return false;
	if (v == 0 && *rest == '\0') {
		*ms = 0;
		return true;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(rest, units[i].unit) != 0)
			continue;
		*ms = v * units[i].s * 1000;
		return v <= TIME_MAX_S / units[i].s;
	}
	return false;
}

static bool set_count(const char *text, uint32_t *out)
{
	const char *rest;
	int64_t v;

	if (!set_number(text, INT32_MAX, &v, &rest) || *rest != '\0')
		return false;
	*out = (uint32_t)v;
	return true;
}

static int on_line(void *arg, const char *section, const char *name,
		   const char *value)
{
	struct history_conf *c = arg;

	if (strcmp(section, "history") != 0)
		return 1;
	if (strcmp(name, "logs") == 0)
		return set_time(value, &c->logs_ms);
	if (strcmp(name, "rows") == 0)
		return set_time(value, &c->rows_ms);
	return strcmp(name, "count") == 0 && set_count(value, &c->count);
}

enum err history_conf_read(const char *data_dir, struct history_conf *c,
			   struct errinfo *e)
{
	struct history_conf n = *c;
	char path[PATH_MAX];
	FILE *f;
	int line = snprintf(path, sizeof(path), "%s/warren.ini", data_dir);

	if (line < 0 || (size_t)line >= sizeof(path))
		return err_set(e, ERR_ARG, 0, "data directory's name too long");
	f = fopen(path, "re");
	if (f == NULL && errno == ENOENT)
		return ERR_NONE;
	if (f == NULL)
		return err_set(e, ERR_IO, errno, "%.180s", path);
	line = ini_parse_file(f, on_line, &n);
	fclose(f);
	if (line != 0)
		return err_set(e, ERR_ARG, 0, "%.180s: line %d", path, line);
	*c = n;
	return ERR_NONE;
}
