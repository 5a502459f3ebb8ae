#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf.h"
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
	unsigned long v;

	if (!conf_number(text, 0, INT32_MAX, &v))
		return false;
	*out = (uint32_t)v;
	return true;
}

static bool take(void *arg, const char *section, const char *name,
		 const char *value, char wrong[CONF_WRONG_MAX])
{
	static const char time[] = "is no time, as 90m, 12h or 7d, nor 0",
			  number[] = "is no number from 0 to 2147483647";
	struct history_conf *c = arg;
	const char *what;

	if (strcmp(section, "history") != 0)
		return true;
	if (strcmp(name, "logs") == 0)
		what = set_time(value, &c->logs_ms) ? NULL : time;
	else if (strcmp(name, "rows") == 0)
		what = set_time(value, &c->rows_ms) ? NULL : time;
	else if (strcmp(name, "count") == 0)
		what = set_count(value, &c->count) ? NULL : number;
	else
		return conf_wrong(wrong, "is none of logs, rows, count");
	return what == NULL || conf_wrong(wrong, "= \"%.40s\" %s", value, what);
}

enum err history_conf_read(const char *data_dir, struct history_conf *c,
			   struct errinfo *e)
{
	struct history_conf n = *c;
	enum err r = conf_read(data_dir, take, &n, e);

	if (r == ERR_NONE)
		*c = n;
	return r;
}
