/* The values behind the question mark. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/route.h"

#define SHOWN_MAX 64 /* of a name, in an error */

/* One "name=value" of the query, as it was sent. */
struct pair {
	const char *name;
	size_t name_len;
	const char *value; /* NULL: a bare name */
	size_t value_len;
};

/* The next one from ${at}, which is moved on; false at the end. */
static bool query_next(const char **at, struct pair *p)
{
	size_t len;

	if (*at == NULL)
		return false;
	while (**at == '&')
		(*at)++;
	len = strcspn(*at, "&");
	if (len == 0)
		return false;
	p->name = *at;
	p->name_len = strcspn(*at, "=&");
	p->value = p->name_len < len ? *at + p->name_len + 1 : NULL;
	p->value_len = p->value != NULL ? len - p->name_len - 1 : 0;
	*at += len;
	return true;
}

static bool query_is(const struct pair *p, const char *name)
{
	return p->name_len == strlen(name) &&
	       memcmp(p->name, name, p->name_len) == 0;
}

static bool query_find(const struct request *rq, const char *name,
		       struct pair *p)
{
	const char *at = route_header(rq, "QUERY_STRING");

	while (query_next(&at, p))
		if (query_is(p, name))
			return true;
	return false;
}

bool route_query(const struct request *rq, const char *name, char *out,
		 size_t size)
{
	OWN(own_mem) char *v = NULL;
	struct errinfo e;
	struct pair p;

	if (!query_find(rq, name, &p) || p.value == NULL ||
	    route_decode(p.value, p.value_len, &v, &e) != ERR_NONE ||
	    strlen(v) >= size)
		return false;
	memcpy(out, v, strlen(v) + 1);
	return true;
}

bool route_query_has(const struct request *rq, const char *name)
{
	struct pair p;

	return query_find(rq, name, &p);
}

enum err route_query_flag(struct request *rq, const char *name, bool *out,
			  struct errinfo *e)
{
	char text[8];
	struct pair p;

	if (!query_find(rq, name, &p))
		return ERR_NONE;
	if (p.value == NULL) {
		*out = true;
		return ERR_NONE;
	}
	if (!route_query(rq, name, text, sizeof(text)))
		text[0] = '\0';
	if (strcmp(text, "1") == 0 || strcmp(text, "true") == 0)
		*out = true;
	else if (strcmp(text, "0") == 0 || strcmp(text, "false") == 0)
		*out = false;
	else
		return err_http_field(rq, e, name, "must be true or false");
	return ERR_NONE;
}

enum err route_query_int(struct request *rq, const char *name, int64_t min,
			 int64_t max, int64_t *out, struct errinfo *e)
{
	char text[32], why[96];
	char *end = text;
	long long v = 0;

	if (!route_query_has(rq, name))
		return ERR_NONE;
	if (route_query(rq, name, text, sizeof(text)) &&
	    (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'))) {
		errno = 0;
		v = strtoll(text, &end, 10);
		if (errno == 0 && *end == '\0' && v >= min && v <= max) {
			*out = v;
			return ERR_NONE;
		}
	}
	snprintf(why, sizeof(why), "must be a number from %lld to %lld",
		 (long long)min, (long long)max);
	return err_http_field(rq, e, name, why);
}

/* How often ${p}'s name is in the query. */
static int query_count(const struct request *rq, const struct pair *p)
{
	const char *at = route_header(rq, "QUERY_STRING");
	struct pair other;
	int n = 0;

	while (query_next(&at, &other))
		n += other.name_len == p->name_len &&
		     memcmp(other.name, p->name, p->name_len) == 0;
	return n;
}

enum err route_query_only(struct request *rq, const char *const *names,
			  struct errinfo *e)
{
	const char *at = route_header(rq, "QUERY_STRING");
	struct pair p;

	while (query_next(&at, &p)) {
		char shown[SHOWN_MAX + 1];
		const char *const *known = names;

		while (*known != NULL && !query_is(&p, *known))
			known++;
		snprintf(shown, sizeof(shown), "%.*s", (int)p.name_len, p.name);
		if (*known == NULL)
			return err_http_field(rq, e, shown,
					      "is nothing that this URL takes");
		if (query_count(rq, &p) > 1)
			return err_http_field(rq, e, shown, "is given twice");
	}
	return ERR_NONE;
}
