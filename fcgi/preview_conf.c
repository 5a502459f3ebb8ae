#include <stdio.h>
#include <string.h>

#include "base/conf.h"
#include "fcgi/preview_conf.h"

/* Those that the wire's clients expect to be refused. */
static const struct preview_conf conf_default = {
    .reserved = {22, 3000},
    .nreserved = 2,
};

/* "22, 3000"; nothing is none. */
static bool set_reserved(struct preview_conf *c, const char *value)
{
	c->nreserved = 0;
	for (value += strspn(value, " "); *value != '\0';) {
		size_t n = strcspn(value, ", ");
		unsigned long port;
		char text[8];

		if (n >= sizeof(text) || c->nreserved == PREVIEW_RESERVED_MAX)
			return false;
		memcpy(text, value, n);
		text[n] = '\0';
		if (!conf_number(text, 1, UINT16_MAX, &port))
			return false;
		c->reserved[c->nreserved++] = (uint16_t)port;
		value += n;
		value += strspn(value, " ");
		if (*value == ',')
			value += 1 + strspn(value + 1, " ");
		else if (*value != '\0')
			return false;
	}
	return true;
}

/* What nginx goes by, as serve tells it, is here but checked. */
static const struct setting {
	const char *key;
	unsigned long min, max; /* or 0 */
} settings[] = {
    {"bytesPerSecond", 1000, 1000000000000UL},
    {"requestsPerSecond", 1, 1000000},
    {"idleSeconds", 1, 86400},
    {"pathPort", 1, UINT16_MAX},
};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static bool set_number(struct preview_conf *c, const char *key,
		       const char *value, char wrong[CONF_WRONG_MAX])
{
	const struct setting *s = settings;
	unsigned long n = 0;

	while (s < settings + SETTINGS && strcmp(s->key, key) != 0)
		s++;
	if (s == settings + SETTINGS)
		return conf_wrong(wrong, "is no setting of previews");
	if (strcmp(value, "0") != 0 && !conf_number(value, s->min, s->max, &n))
		return conf_wrong(
		    wrong, "= \"%.40s\" is neither 0 nor from %lu to %lu",
		    value, s->min, s->max);
	if (strcmp(key, "bytesPerSecond") == 0)
		c->bytes_per_s = n;
	if (strcmp(key, "pathPort") == 0)
		c->path_port = (uint16_t)n;
	return true;
}

static bool take(void *arg, const char *section, const char *key,
		 const char *value, char wrong[CONF_WRONG_MAX])
{
	struct preview_conf *c = arg;

	if (strcmp(section, "preview") != 0)
		return true;
	if (strcmp(key, "reservedPorts") == 0)
		return set_reserved(c, value) ||
		       conf_wrong(wrong,
				  "= \"%.60s\" are no ports from 1 to 65535 "
				  "with commas between, %d at most",
				  value, PREVIEW_RESERVED_MAX);
	return set_number(c, key, value, wrong);
}

enum err preview_conf_read(const char *data_dir, struct preview_conf *out,
			   struct errinfo *e)
{
	struct preview_conf c = conf_default;
	enum err r = conf_read(data_dir, take, &c, e);

	if (r == ERR_NONE)
		*out = c;
	return r;
}

bool preview_conf_reserved(const struct preview_conf *c, int64_t port)
{
	for (size_t i = 0; i < c->nreserved; i++)
		if (c->reserved[i] == port)
			return true;
	return c->closed;
}
