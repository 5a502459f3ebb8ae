#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf.h"
#include "sandbox/net_conf.h"

#define LINE_MAX_BYTES 2048

const char *net_addr_text(uint32_t addr, char text[16])
{
	struct in_addr a = {.s_addr = htonl(addr)};

	return inet_ntop(AF_INET, &a, text, 16);
}

bool net_cidr_ok(const struct broker_cidr *c)
{
	return c->prefix <= 32 && (c->addr & ~net_cidr_mask(c->prefix)) == 0 &&
	       c->zero[0] == 0 && c->zero[1] == 0 && c->zero[2] == 0;
}

bool net_cidr_parse(const char *text, struct broker_cidr *c)
{
	struct broker_cidr got = {.prefix = 32};
	size_t n = strcspn(text, "/");
	char addr[16], *end;
	struct in_addr a;
	unsigned long prefix;

	if (n >= sizeof(addr))
		return false;
	memcpy(addr, text, n);
	addr[n] = '\0';
	if (inet_pton(AF_INET, addr, &a) != 1)
		return false;
	if (text[n] == '/') {
		prefix = strtoul(text + n + 1, &end, 10);
		if (text[n + 1] < '0' || text[n + 1] > '9' || *end != '\0' ||
		    prefix > 32)
			return false;
		got.prefix = (uint8_t)prefix;
	}
	got.addr = ntohl(a.s_addr);
	if (!net_cidr_ok(&got))
		return false;
	*c = got;
	return true;
}

/* Calls fn for each part between commas, blanks cut off. */
static bool each(const char *list, bool (*fn)(void *arg, const char *part),
		 void *arg)
{
	char part[64];

	while (*list != '\0') {
		size_t skip = strspn(list, " \t,");
		size_t n = strcspn(list + skip, " \t,");

		list += skip;
		if (n >= sizeof(part))
			return false;
		memcpy(part, list, n);
		part[n] = '\0';
		if (n > 0 && !fn(arg, part))
			return false;
		list += n;
	}
	return true;
}

static bool add_cidr(void *arg, const char *part)
{
	struct net_cidrs *l = arg;

	return l->n < BROKER_CIDRS_MAX && net_cidr_parse(part, &l->at[l->n++]);
}

static bool add_zone(void *arg, const char *part)
{
	char *zones = arg;
	size_t len = strlen(zones), n = strlen(part);

	if (strspn(part, "abcdefghijklmnopqrstuvwxyz0123456789-.") != n ||
	    len + n + 2 > sizeof(((struct net_conf *)0)->dns_refuse))
		return false;
	zones[len] = '/';
	memcpy(zones + len + 1, part, n + 1);
	return true;
}

static bool set_uplink(struct net_conf *c, const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n >= sizeof(c->uplink) ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			 "0123456789-_.@") != n ||
	    strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	memcpy(c->uplink, name, n + 1);
	return true;
}

static bool set_list(struct net_cidrs *l, const char *text, int max)
{
	return each(text, add_cidr, l) && l->n <= max;
}

static bool set_number(uint32_t *out, const char *text, unsigned long max)
{
	unsigned long v;

	if (!conf_number(text, 1, max, &v))
		return false;
	*out = (uint32_t)v;
	return true;
}

static bool set_pool(struct net_conf *c, const char *text)
{
	return net_cidr_parse(text, &c->pool) && c->pool.prefix <= 19;
}

static bool set_link(struct net_conf *c, const char *text)
{
	return net_cidr_parse(text, &c->link) && c->link.prefix == 30;
}

static bool set_dns(struct net_conf *c, const char *text)
{
	return set_list(&c->dns, text, NET_DNS_MAX);
}

static bool set_dns_refuse(struct net_conf *c, const char *text)
{
	return each(text, add_zone, c->dns_refuse);
}

static bool set_block(struct net_conf *c, const char *text)
{
	return set_list(&c->block, text, BROKER_CIDRS_MAX);
}

static bool set_open(struct net_conf *c, const char *text)
{
	return set_list(&c->open, text, BROKER_CIDRS_MAX);
}

static bool set_connections(struct net_conf *c, const char *text)
{
	return set_number(&c->connections, text, 65536);
}

static bool set_total(struct net_conf *c, const char *text)
{
	return set_number(&c->total, text, 1UL << 24);
}

static bool set_rate(struct net_conf *c, const char *text)
{
	return set_number(&c->rate, text, 100000);
}

static const struct key {
	const char *name;
	bool (*set)(struct net_conf *c, const char *text);
	const char *wrong;
} keys[] = {
    {"pool", set_pool, "is no range of addresses of /19 or more"},
    {"link", set_link, "is no range of addresses of /30"},
    {"uplink", set_uplink, "is no name of an interface"},
    {"dns", set_dns, "is no list of at most 3 addresses"},
    {"dns_refuse", set_dns_refuse, "is no list of zones in lower case"},
    {"block", set_block, "is no list of at most 64 addresses or ranges"},
    {"open", set_open, "is no list of at most 64 addresses or ranges"},
    {"connections", set_connections, "is no number from 1 to 65536"},
    {"total", set_total, "is no number from 1 to 16777216"},
    {"rate", set_rate, "is no number from 1 to 100000"},
};

_Static_assert(NET_DNS_MAX == 3 && BROKER_CIDRS_MAX == 64, "in the texts");

static bool take(void *arg, const char *section, const char *name,
		 const char *value, char wrong[CONF_WRONG_MAX])
{
	if (strcmp(section, "network") != 0)
		return true;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(name, keys[i].name) == 0)
			return keys[i].set(arg, value) ||
			       conf_wrong(wrong, "= \"%.40s\" %s", value,
					  keys[i].wrong);
	return conf_wrong(wrong, "is none of pool, link, uplink, dns, "
				 "dns_refuse, block, open, connections, total, "
				 "rate");
}

enum err net_conf_read(const char *data_dir, struct net_conf *c,
		       struct errinfo *e)
{
	static const char refuse[] = "/internal/local/localdomain/lan/home/"
				     "home.arpa/corp/intranet/private";
	struct net_conf n = {
	    .pool = {.addr = 0x0ada0000, .prefix = 19},
	    .connections = 1024,
	    .rate = 100,
	};
	enum err r = conf_read(data_dir, take, &n, e);

	if (r != ERR_NONE)
		return r;
	if (n.dns_refuse[0] == '\0')
		memcpy(n.dns_refuse, refuse, sizeof(refuse));
	*c = n;
	return ERR_NONE;
}

static int resolvers_of(const char *path, uint32_t out[NET_DNS_MAX])
{
	char line[LINE_MAX_BYTES], word[64];
	FILE *f = fopen(path, "re");
	struct broker_cidr c;
	int n = 0;

	if (f == NULL)
		return 0;
	while (n < NET_DNS_MAX && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, " nameserver %63s", word) == 1 &&
		    net_cidr_parse(word, &c) && c.prefix == 32 &&
		    c.addr >> 24 != 127 && c.addr != 0)
			out[n++] = c.addr;
	fclose(f);
	return n;
}

int net_conf_resolvers(const struct net_conf *c, uint32_t out[NET_DNS_MAX])
{
	int n = resolvers_of("/etc/resolv.conf", out);

	if (c->dns.n > 0) {
		for (n = 0; n < c->dns.n; n++)
			out[n] = c->dns.at[n].addr;
		return n;
	}
	return n > 0 ? n
		     : resolvers_of("/run/systemd/resolve/resolv.conf", out);
}
