#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/cidr.h"

static uint32_t cidr_mask(uint8_t prefix)
{
	return prefix == 0 ? 0 : ~UINT32_C(0) << (32 - prefix);
}

/* "0" to "32", without a sign or a leading zero. */
static bool cidr_prefix(const char *text, uint8_t *out)
{
	unsigned v = 0;
	size_t n = strspn(text, "0123456789");

	if (n == 0 || n > 2 || text[n] != '\0' || (n > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < n; i++)
		v = v * 10 + (unsigned)(text[i] - '0');
	*out = (uint8_t)v;
	return v <= 32;
}

bool cidr_parse(const char *text, size_t len, struct cidr *out)
{
	char s[CIDR_TEXT_MAX + 1];
	struct cidr c = {.prefix = 32};
	struct in_addr a;
	char *slash;

	if (len == 0 || len > CIDR_TEXT_MAX)
		return false;
	memcpy(s, text, len);
	s[len] = '\0';
	slash = strchr(s, '/');
	if (slash != NULL) {
		*slash = '\0';
		if (!cidr_prefix(slash + 1, &c.prefix))
			return false;
	}
	if (inet_pton(AF_INET, s, &a) != 1)
		return false;
	c.addr = ntohl(a.s_addr);
	if ((c.addr & ~cidr_mask(c.prefix)) != 0)
		return false;
	*out = c;
	return true;
}

bool cidr_within(const struct cidr *a, const struct cidr *b)
{
	return a->prefix >= b->prefix &&
	       (a->addr & cidr_mask(b->prefix)) == b->addr;
}

bool cidr_list_add(struct cidr_list *l, const struct cidr *c)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->of[i].addr == c->addr && l->of[i].prefix == c->prefix)
			return true;
	if (l->n == CIDR_LIST_MAX)
		return false;
	l->of[l->n++] = *c;
	return true;
}

enum err cidr_list_parse(const char *text, struct cidr_list *out,
			 struct errinfo *e)
{
	struct cidr_list l = {.n = 0};

	for (;;) {
		struct cidr c;
		size_t n;

		text += strspn(text, " ,");
		n = strcspn(text, " ,");
		if (n == 0)
			break;
		if (!cidr_parse(text, n, &c))
			return err_set(e, ERR_ARG, 0,
				       "%.*s is not a range of IPv4 "
				       "addresses such as 192.0.2.0/24",
				       n < 40 ? (int)n : 40, text);
		if (!cidr_list_add(&l, &c))
			return err_set(e, ERR_LIMIT, 0, "more than %d ranges",
				       CIDR_LIST_MAX);
		text += n;
	}
	*out = l;
	return ERR_NONE;
}

void cidr_list_text(const struct cidr_list *l, char out[CIDR_LIST_TEXT_MAX + 1])
{
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < l->n; i++) {
		const struct cidr *c = &l->of[i];

		at += (size_t)snprintf(
		    out + at, CIDR_LIST_TEXT_MAX + 1 - at, "%s%u.%u.%u.%u/%u",
		    i > 0 ? " " : "", c->addr >> 24, c->addr >> 16 & 255,
		    c->addr >> 8 & 255, c->addr & 255, c->prefix);
	}
}

bool cidr_list_within(const struct cidr_list *a, const struct cidr_list *b)
{
	for (size_t i = 0; i < a->n; i++) {
		bool in = false;

		for (size_t j = 0; j < b->n && !in; j++)
			in = cidr_within(&a->of[i], &b->of[j]);
		if (!in)
			return false;
	}
	return true;
}

bool cidr_list_meet(const struct cidr_list *a, const struct cidr_list *b,
		    struct cidr_list *out)
{
	struct cidr_list l = {.n = 0};

	/* Two ranges meet only when one is in the other. */
	for (size_t i = 0; i < a->n; i++) {
		for (size_t j = 0; j < b->n; j++) {
			const struct cidr *x = &a->of[i], *y = &b->of[j];

			if (cidr_within(x, y) && !cidr_list_add(&l, x))
				return false;
			if (!cidr_within(x, y) && cidr_within(y, x) &&
			    !cidr_list_add(&l, y))
				return false;
		}
	}
	*out = l;
	return true;
}
