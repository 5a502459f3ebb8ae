#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "fcgi/duration.h"
#include "fcgi/until.h"

/* "2026-01-31T12:00:00Z", with or without a fraction. */
static bool until_time(const char *text, int64_t *ms)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

	if (end != NULL && *end == '.') {
		end++;
		end += strspn(end, "0123456789");
	}
	if (end == NULL || strcmp(end, "Z") != 0)
		return false;
	*ms = (int64_t)timegm(&tm) * 1000;
	return true;
}

enum err until_read(struct request *rq, const struct until *u, int64_t *out,
		    struct errinfo *e)
{
	int64_t now = clock_unix_ms(), ttl = u->default_ms;
	const char *field = u->expires != NULL ? "expiresAt" : "ttl";
	char most[32], why[64];

	if (u->ttl != NULL && u->expires != NULL)
		return err_http_field(rq, e, "ttl",
				      "cannot be given with expiresAt");
	if (u->ttl != NULL && !duration_parse(u->ttl, &ttl))
		return err_http_field(rq, e, field,
				      "must be a duration, such as 10m");
	*out = now + ttl;
	if (u->expires != NULL && !until_time(u->expires, out))
		return err_http_field(rq, e, field,
				      "must be a time, such as "
				      "2030-01-31T12:00:00Z");
	duration_show(u->max_ms, most, sizeof(most));
	snprintf(why, sizeof(why), "must be within the next %s", most);
	if (*out <= now || *out > now + u->max_ms)
		return err_http_field(rq, e, field, why);
	return ERR_NONE;
}
