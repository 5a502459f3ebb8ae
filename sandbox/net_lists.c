#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "sandbox/broker.h"
#include "sandbox/net_forget.h"
#include "sandbox/net_lists.h"

static void file_of(uint32_t slot, char path[32])
{
	snprintf(path, 32, "net/%u", slot);
}

static bool within(const struct broker_cidr *at, int n,
		   const struct broker_cidr *c)
{
	for (int i = 0; i < n; i++)
		if (net_cidr_has(&at[i], c))
			return true;
	return false;
}

/* Copy those that lie in no other: sets of ranges take no nested ones. */
static uint16_t widest(const struct broker_cidr *from, int n,
		       struct broker_cidr *to)
{
	uint16_t kept = 0;

	for (unsigned prefix = 0; prefix <= 32; prefix++)
		for (int i = 0; i < n; i++)
			if (from[i].prefix == prefix &&
			    !within(to, kept, &from[i]))
				to[kept++] = from[i];
	return kept;
}

static void batch_lists(const struct net *n, struct net_set_batch *b,
			uint32_t slot, const struct net_lists *l, bool in)
{
	uint32_t source = net_slot_addr(&n->conf, slot);
	void (*range)(struct net_set_batch *, const char *, uint32_t,
		      const struct broker_cidr *) = in ? net_set_range
						       : net_set_unrange;

	for (int i = 0; i < l->ndeny + l->nallow; i++)
		range(b, i < l->ndeny ? "deny" : "allow", source, &l->at[i]);
	if (l->nallow > 0 && in)
		net_set_mark(b, "limited", slot + 1);
	if (l->nallow > 0 && !in)
		net_set_unmark(b, "limited", slot + 1);
}

/* Written before they count, so that a broker that follows has them too. */
static enum err note_lists(struct net *n, uint32_t slot,
			   const struct net_lists *l, struct errinfo *e)
{
	char path[32];
	OWN(own_fd) int fd = -1;

	file_of(slot, path);
	if (l == NULL) {
		unlinkat(n->broker->run, path, 0);
		return ERR_NONE;
	}
	fd = openat(n->broker->run, path,
		    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, l, sizeof(*l)) != (ssize_t)sizeof(*l))
		return err_set(e, ERR_IO, errno, "lists of slot %u", slot);
	return ERR_NONE;
}

static struct net_lists *lists_of(const struct broker_req *req)
{
	struct net_lists *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->ndeny = widest(req->cidrs, req->ndeny, l->at);
	l->nallow = widest(req->cidrs + req->ndeny, req->nallow,
			   l->at + l->ndeny);
	return l;
}

enum err net_lists_set(struct net *n, uint32_t slot,
		       const struct broker_req *req, struct errinfo *e)
{
	OWN(own_mem) struct net_lists *l = NULL;
	struct net_set_batch b;
	enum err r;

	if (!n->up || n->state[slot] != NET_USED)
		return err_set(e, ERR_STATE, 0, "no way out");
	if (req->ndeny + req->nallow == 0 && n->lists[slot] == NULL)
		return ERR_NONE;
	if (req->ndeny + req->nallow > 0) {
		l = lists_of(req);
		if (l == NULL)
			return err_set(e, ERR_NOMEM, 0, "lists");
	}
	r = net_set_begin(&b, e);
	if (r != ERR_NONE)
		return r;
	if (n->lists[slot] != NULL)
		batch_lists(n, &b, slot, n->lists[slot], false);
	if (l != NULL)
		batch_lists(n, &b, slot, l, true);
	r = note_lists(n, slot, l, e);
	if (r != ERR_NONE)
		net_set_drop(&b);
	else
		r = net_set_commit(n->nf, &b, e);
	if (r != ERR_NONE)
		return r;
	free(n->lists[slot]);
	n->lists[slot] = STEAL(l);
	/* What goes on and is forbidden now ends. */
	net_forget_soon(n, slot);
	return ERR_NONE;
}

static bool lists_ok(const struct net_lists *l)
{
	if (l->ndeny + l->nallow > BROKER_CIDRS_MAX)
		return false;
	for (int i = 0; i < l->ndeny + l->nallow; i++)
		if (!net_cidr_ok(&l->at[i]))
			return false;
	return true;
}

static void read_lists(struct net *n, int dir, const char *name)
{
	OWN(own_mem) struct net_lists *l = malloc(sizeof(*l));
	OWN(own_fd)
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	unsigned long slot = strtoul(name, NULL, 10);

	if (name[0] < '0' || name[0] > '9' || slot >= BERTH_SLOTS)
		return;
	if (l == NULL || fd < 0 ||
	    read(fd, l, sizeof(*l)) != (ssize_t)sizeof(*l) || !lists_ok(l)) {
		log_line(LOG_ERROR, "lists of slot %lu cannot be read", slot);
		return;
	}
	free(n->lists[slot]);
	n->lists[slot] = STEAL(l);
}

void net_lists_read(struct net *n)
{
	int fd = openat(n->broker->run, "net",
			O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (d == NULL) {
		own_fd(&fd);
		return;
	}
	while ((de = readdir(d)) != NULL)
		read_lists(n, dirfd(d), de->d_name);
	closedir(d);
}

bool net_lists_forbid(const struct net *n, uint32_t slot, uint32_t to)
{
	const struct broker_cidr one = {.addr = to, .prefix = 32};
	const struct net_lists *l = n->lists[slot];

	if (l == NULL)
		return false;
	return within(l->at, l->ndeny, &one) ||
	       (l->nallow > 0 && !within(l->at + l->ndeny, l->nallow, &one));
}

void net_lists_clear(struct net *n, uint32_t slot, struct net_set_batch *b)
{
	if (n->lists[slot] != NULL)
		batch_lists(n, b, slot, n->lists[slot], false);
}

void net_lists_drop(struct net *n, uint32_t slot)
{
	(void)!note_lists(n, slot, NULL, NULL);
	free(n->lists[slot]);
	n->lists[slot] = NULL;
}
