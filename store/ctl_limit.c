#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/ctl_limit.h"

const struct ctl_limit_info ctl_limit_table[LIMIT_ALL] = {
#define X(name, json, column, min, max) {json, ":" #column, min, max},
    CTL_LIMITS(X) CTL_TENANT_LIMITS(X)
#undef X
};

enum ctl_limit ctl_limit_find(const char *name)
{
	int i = 0;

	while (i < LIMIT_ALL && strcmp(ctl_limit_table[i].name, name) != 0)
		i++;
	return (enum ctl_limit)i;
}

void ctl_limits_over(const struct ctl_limits *low,
		     const struct ctl_limits *high, struct ctl_limits *out)
{
	for (int i = 0; i < LIMIT_ALL; i++)
		out->of[i] = low->of[i] > 0 ? low->of[i] : high->of[i];
}

int64_t ctl_limits_tmp_max(int64_t memory_bytes)
{
	return memory_bytes / 8 * 3 / 4096 * 4096;
}

void ctl_limits_within(const struct ctl_limits *asked,
		       const struct ctl_limits *most, struct ctl_limits *out)
{
	int64_t tmp_max;

	for (int i = 0; i < LIMIT_ALL; i++)
		out->of[i] = asked->of[i] > 0 && asked->of[i] < most->of[i]
				 ? asked->of[i]
				 : most->of[i];
	tmp_max = ctl_limits_tmp_max(out->of[LIMIT_MEMORY]);
	if (out->of[LIMIT_TMP] > tmp_max)
		out->of[LIMIT_TMP] = tmp_max;
}

/* ---- the network ---- */

void ctl_net_over(const struct ctl_net *low, const struct ctl_net *high,
		  struct ctl_net *out)
{
	struct ctl_net n = *high;

	if (low->policy[0] != '\0')
		memcpy(n.policy, low->policy, sizeof(n.policy));
	if (low->allow[0] != '\0')
		memcpy(n.allow, low->allow, sizeof(n.allow));
	if (low->deny[0] != '\0')
		memcpy(n.deny, low->deny, sizeof(n.deny));
	*out = n;
}

/* What was stored is a list; if it ever is not, nothing is allowed. */
static bool net_lists(const char *a, const char *b, struct cidr_list *x,
		      struct cidr_list *y)
{
	return cidr_list_parse(a, x, NULL) == ERR_NONE &&
	       cidr_list_parse(b, y, NULL) == ERR_NONE;
}

static bool net_allow(const char *asked, const char *most, char *out)
{
	struct cidr_list a, b;

	if (!net_lists(asked, most, &a, &b))
		return false;
	if (b.n > 0 && a.n == 0)
		a = b;
	else if (b.n > 0 && (!cidr_list_meet(&a, &b, &a) || a.n == 0))
		return false;
	cidr_list_text(&a, out);
	return true;
}

static bool net_deny(const char *asked, const char *most, char *out)
{
	struct cidr_list a, b;

	if (!net_lists(asked, most, &a, &b))
		return false;
	for (size_t i = 0; i < b.n; i++)
		if (!cidr_list_add(&a, &b.of[i]))
			return false;
	cidr_list_text(&a, out);
	return true;
}

void ctl_net_within(const struct ctl_net *asked, const struct ctl_net *most,
		    struct ctl_net *out)
{
	struct ctl_net n = {.policy = "none"};

	if (net_allow(asked->allow, most->allow, n.allow) &&
	    net_deny(asked->deny, most->deny, n.deny) &&
	    strcmp(asked->policy, "internet") == 0 &&
	    strcmp(most->policy, "internet") == 0)
		memcpy(n.policy, asked->policy, sizeof(n.policy));
	*out = n;
}

/* ---- as the operator writes them ---- */

static bool parse_number(const char *text, int64_t *out)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;
	long long v;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno != 0 || (end[0] != '\0' && end[1] != '\0'))
		return false;
	if (end[0] != '\0') {
		unit = strchr(units, end[0]);
		if (unit == NULL || v >= INT64_C(1) << 23)
			return false;
		v <<= 10 * (unit - units + 1);
	}
	*out = v;
	return true;
}

static enum err parse_limit(const char *name, const char *value,
			    struct ctl_limits *limits, struct errinfo *e)
{
	enum ctl_limit i = ctl_limit_find(name);
	const struct ctl_limit_info *info;
	int64_t v = 0;

	if (i == LIMIT_ALL)
		return err_set(e, ERR_ARG, 0, "there is no limit %.40s", name);
	info = &ctl_limit_table[i];
	if (strcmp(value, "default") != 0 &&
	    (!parse_number(value, &v) || v < info->min || v > info->max))
		return err_set(e, ERR_ARG, 0,
			       "%s is a number from %lld to %lld", info->name,
			       (long long)info->min, (long long)info->max);
	if (i == LIMIT_MEMORY)
		v = v / 4096 * 4096;
	limits->of[i] = v;
	return ERR_NONE;
}

static enum err parse_list(const char *name, const char *value, char *out,
			   struct errinfo *e)
{
	struct cidr_list l = {.n = 0};
	enum err r = ERR_NONE;

	if (strcmp(value, "default") != 0)
		r = cidr_list_parse(value, &l, e);
	if (r == ERR_NONE && l.n > CTL_NET_RANGES_MAX)
		return err_set(e, ERR_ARG, 0, "%s has at most %d ranges", name,
			       CTL_NET_RANGES_MAX);
	if (r == ERR_NONE)
		cidr_list_text(&l, out);
	return r;
}

static enum err parse_policy(const char *value, struct ctl_net *net,
			     struct errinfo *e)
{
	size_t n = strlen(value);

	if (strcmp(value, "default") == 0)
		n = 0;
	else if (strcmp(value, "none") != 0 && strcmp(value, "internet") != 0)
		return err_set(e, ERR_ARG, 0, "network is none or internet");
	memcpy(net->policy, value, n);
	net->policy[n] = '\0';
	return ERR_NONE;
}

enum err ctl_limits_parse(const char *text, struct ctl_limits *limits,
			  struct ctl_net *net, struct errinfo *e)
{
	char name[32];
	size_t n = strcspn(text, "=");
	const char *value = text + n + 1;

	if (text[n] == '\0' || n >= sizeof(name))
		return err_set(e, ERR_ARG, 0,
			       "a limit is written name=value, as "
			       "memoryBytes=512M");
	memcpy(name, text, n);
	name[n] = '\0';
	if (strcmp(name, "network") == 0)
		return parse_policy(value, net, e);
	if (strcmp(name, "allow") == 0)
		return parse_list(name, value, net->allow, e);
	if (strcmp(name, "deny") == 0)
		return parse_list(name, value, net->deny, e);
	return parse_limit(name, value, limits, e);
}
