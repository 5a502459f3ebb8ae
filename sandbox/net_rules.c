#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/own.h"
#include "sandbox/berth.h"
#include "sandbox/child.h"
#include "sandbox/net_rules.h"
#include "sandbox/net_text.h"

#define LOAD_LIMIT_MS 10000

struct word {
	const char *name;
	void (*put)(const struct net_rules *in, struct buf *out);
};

static void put_cidr(struct buf *b, const struct broker_cidr *c)
{
	char text[16];

	buf_addf(b, "%s/%u", net_addr_text(c->addr, text), c->prefix);
}

static void put_addr(struct buf *b, uint32_t addr)
{
	char text[16];

	buf_adds(b, net_addr_text(addr, text));
}

static void put_slots(const struct net_rules *in, struct buf *b)
{
	(void)in;
	buf_adds(b, "elements = {");
	for (uint32_t i = 0; i < BERTH_SLOTS; i++)
		buf_addf(b, "%s \"sb%u\" : %u", i > 0 ? "," : "", i, i + 1);
	buf_adds(b, " }");
}

static void put_pairs(const struct net_rules *in, struct buf *b)
{
	buf_adds(b, "elements = {");
	for (uint32_t i = 0; i < BERTH_SLOTS; i++) {
		buf_addf(b, "%s %u . ", i > 0 ? "," : "", i + 1);
		put_addr(b, net_slot_addr(in->conf, i));
	}
	buf_adds(b, " }");
}

static void put_hosts(const struct net_rules *in, struct buf *b)
{
	for (int i = 0; i < in->nhosts; i++) {
		buf_adds(b, i == 0 ? "elements = { " : ", ");
		put_addr(b, in->hosts[i].addr);
	}
	buf_adds(b, in->nhosts > 0 ? " }" : "");
}

static void put_dns(const struct net_rules *in, struct buf *b)
{
	for (int i = 0; i < in->ndns; i++) {
		buf_adds(b, i == 0 ? "elements = { " : ", ");
		put_addr(b, in->dns[i]);
	}
	buf_adds(b, in->ndns > 0 ? " }" : "");
}

static void put_pool(const struct net_rules *in, struct buf *b)
{
	put_cidr(b, &in->conf->pool);
}

static void put_block(const struct net_rules *in, struct buf *b)
{
	for (int i = 0; i < in->conf->block.n; i++) {
		buf_adds(b, ", ");
		put_cidr(b, &in->conf->block.at[i]);
	}
}

static void put_open(const struct net_rules *in, struct buf *b)
{
	for (int i = 0; i < in->conf->open.n; i++) {
		buf_adds(b, i == 0 ? "elements = { " : ", ");
		put_cidr(b, &in->conf->open.at[i]);
	}
	buf_adds(b, in->conf->open.n > 0 ? " }" : "");
}

/* Elements of all live sandboxes' lists: "10.218.0.1 . 10.0.0.0/8". */
static void put_lists(const struct net_rules *in, struct buf *b, bool deny)
{
	const char *before = "elements = { ";

	for (uint32_t slot = 0; in->lists != NULL && slot < BERTH_SLOTS;
	     slot++) {
		const struct net_lists *l = in->lists[slot];
		int from, to;

		if (l == NULL)
			continue;
		from = deny ? 0 : l->ndeny;
		to = deny ? l->ndeny : l->ndeny + l->nallow;
		for (int i = from; i < to; i++) {
			buf_adds(b, before);
			put_addr(b, net_slot_addr(in->conf, slot));
			buf_adds(b, " . ");
			put_cidr(b, &l->at[i]);
			before = ", ";
		}
	}
	buf_adds(b, before[0] == ',' ? " }" : "");
}

static void put_deny(const struct net_rules *in, struct buf *b)
{
	put_lists(in, b, true);
}

static void put_allow(const struct net_rules *in, struct buf *b)
{
	put_lists(in, b, false);
}

static void put_limited(const struct net_rules *in, struct buf *b)
{
	const char *before = "elements = { ";

	for (uint32_t slot = 0; in->lists != NULL && slot < BERTH_SLOTS;
	     slot++) {
		const struct net_lists *l = in->lists[slot];

		if (l == NULL || l->nallow == 0)
			continue;
		buf_addf(b, "%s%u", before, slot + 1);
		before = ", ";
	}
	buf_adds(b, before[0] == ',' ? " }" : "");
}

static void put_resolver(const struct net_rules *in, struct buf *b)
{
	(void)in;
	buf_adds(b, NET_RESOLVER);
}

static void put_rate(const struct net_rules *in, struct buf *b)
{
	buf_addf(b, "%u", in->conf->rate);
}

static void put_burst(const struct net_rules *in, struct buf *b)
{
	buf_addf(b, "%u", in->conf->rate * 2);
}

static void put_connections(const struct net_rules *in, struct buf *b)
{
	buf_addf(b, "%u", in->conf->connections);
}

static void put_table(const struct net_rules *in, struct buf *b)
{
	buf_adds(b, in->table);
}

static void put_link(const struct net_rules *in, struct buf *b)
{
	buf_adds(b, in->link);
}

static void put_egress(const struct net_rules *in, struct buf *b)
{
	put_addr(b, in->egress);
}

/* We made the host forward: what else would use that is held back. */
static void put_closed(const struct net_rules *in, struct buf *b)
{
	if (in->closed[0] == '\0')
		return;
	buf_addf(b,
		 "iifname \"%s\" ct state new ct status dnat accept\n"
		 "\t\tiifname \"%s\" ct state new drop",
		 in->closed, in->closed);
}

static const struct word words[] = {
    {"slots", put_slots},       {"pairs", put_pairs},
    {"hosts", put_hosts},       {"dns", put_dns},
    {"pool", put_pool},         {"block", put_block},
    {"open", put_open},         {"deny", put_deny},
    {"allow", put_allow},       {"limited", put_limited},
    {"rate", put_rate},         {"burst", put_burst},
    {"table", put_table},       {"link", put_link},
    {"egress", put_egress},     {"closed", put_closed},
    {"resolver", put_resolver}, {"connections", put_connections},
};

static const char *const denials[] = {
#define DENIAL(name, word, text) #name,
#include "base/broker_denial.def"
#undef DENIAL
};

static void put_word(const struct net_rules *in, const char *name, size_t len,
		     struct buf *out)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].name) == len &&
		    memcmp(words[i].name, name, len) == 0) {
			words[i].put(in, out);
			return;
		}
	for (unsigned i = 0; i < BROKER_DENIAL_COUNT; i++)
		if (strlen(denials[i]) == len &&
		    memcmp(denials[i], name, len) == 0) {
			buf_addf(out, "0x%x", net_refused_mark(0, i));
			return;
		}
	must(!"a word of the ruleset");
}

static void fill(const struct net_rules *in, const char *text, struct buf *out)
{
	const char *at, *end;

	while ((at = strstr(text, "@@")) != NULL) {
		end = strstr(at + 2, "@@");
		must(end != NULL);
		buf_add(out, text, (size_t)(at - text));
		put_word(in, at + 2, (size_t)(end - at - 2), out);
		text = end + 2;
	}
	buf_adds(out, text);
}

void net_rules_egress(const struct net_rules *in, struct buf *out)
{
	fill(in, net_text_egress, out);
}

void net_rules_host(const struct net_rules *in, struct buf *out)
{
	fill(in, net_text_host, out);
}

static int text_file(const struct buf *text)
{
	OWN(own_fd) int fd = memfd_create("rules", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text->data, text->len) != (ssize_t)text->len ||
	    lseek(fd, 0, SEEK_SET) != 0)
		return -1;
	return STEAL_FD(fd);
}

enum err net_rules_load(const struct buf *text, int ns, struct errinfo *e)
{
	char name[] = "nft", f[] = "-f", file[] = "/proc/self/fd/3";
	char *const argv[] = {name, f, file, NULL};
	OWN(own_fd) int program = open("/usr/sbin/nft", O_RDONLY | O_CLOEXEC);
	OWN(own_fd) int rules = -1;
	OWN(own_fd) int pidfd = -1;
	struct child_spec s = {.program = program,
			       .argv = argv,
			       .fds = &rules,
			       .nfds = 1,
			       .net_ns = ns};
	struct pollfd p;
	pid_t pid;
	int status;
	enum err r;

	if (program < 0)
		return err_set(e, ERR_NOT_FOUND, errno,
			       "no /usr/sbin/nft (package nftables)");
	if (!buf_ok(text))
		return err_set(e, ERR_NOMEM, 0, "ruleset");
	rules = text_file(text);
	if (rules < 0)
		return err_set(e, ERR_IO, errno, "ruleset");
	r = child_start(&s, &pid, &pidfd, e);
	if (r != ERR_NONE)
		return r;
	p = (struct pollfd){.fd = pidfd, .events = POLLIN};
	if (poll(&p, 1, LOAD_LIMIT_MS) != 1) {
		child_signal(pidfd, SIGKILL);
		poll(&p, 1, -1);
	}
	child_reap(pidfd, &status);
	if (status != 0)
		return err_set(e, ERR_IO, 0, "nft ended with status %#x",
			       (unsigned)status);
	return ERR_NONE;
}
