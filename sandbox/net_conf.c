#include <arpa/inet.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own.h"
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

static bool set_number(const char *text, uint32_t max, uint32_t *out)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || v < 1 || v > max)
		return false;
	*out = (uint32_t)v;
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

static bool set_value(struct net_conf *c, const char *name, const char *value)
{
	if (strcmp(name, "pool") == 0)
		return net_cidr_parse(value, &c->pool) && c->pool.prefix <= 19;
	if (strcmp(name, "link") == 0)
		return net_cidr_parse(value, &c->link) && c->link.prefix == 30;
	if (strcmp(name, "uplink") == 0)
		return set_uplink(c, value);
	if (strcmp(name, "dns") == 0)
		return set_list(&c->dns, value, NET_DNS_MAX);
	if (strcmp(name, "block") == 0)
		return set_list(&c->block, value, BROKER_CIDRS_MAX);
	if (strcmp(name, "open") == 0)
		return set_list(&c->open, value, BROKER_CIDRS_MAX);
	if (strcmp(name, "dns_refuse") == 0)
		return each(value, add_zone, c->dns_refuse);
	if (strcmp(name, "connections") == 0)
		return set_number(value, 65536, &c->connections);
	if (strcmp(name, "total") == 0)
		return set_number(value, 1U << 24, &c->total);
	if (strcmp(name, "rate") == 0)
		return set_number(value, 100000, &c->rate);
	return false;
}

static int on_line(void *arg, const char *section, const char *name,
		   const char *value)
{
	return strcmp(section, "network") != 0 || set_value(arg, name, value);
}

static enum err read_file(const char *path, struct net_conf *c,
			  struct errinfo *e)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	int line;

	if (f == NULL && errno != ENOENT)
		return err_set(e, ERR_IO, errno, "%s", path);
	if (f == NULL)
		return ERR_NONE;
	if (fstat(fileno(f), &st) < 0 || st.st_uid != 0 ||
	    (st.st_mode & 022) != 0) {
		fclose(f);
		return err_set(e, ERR_DENIED, 0, "%s must be root's own", path);
	}
	line = ini_parse_file(f, on_line, c);
	fclose(f);
	if (line != 0)
		return err_set(e, ERR_ARG, 0, "%s: line %d", path, line);
	return ERR_NONE;
}

enum err net_conf_read(const char *path, struct net_conf *c, struct errinfo *e)
{
	static const char refuse[] = "/internal/local/localdomain/lan/home/"
				     "home.arpa/corp/intranet/private";
	struct net_conf n = {
	    .pool = {.addr = 0x0ada0000, .prefix = 19},
	    .connections = 1024,
	    .rate = 100,
	};
	enum err r = read_file(path, &n, e);

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
