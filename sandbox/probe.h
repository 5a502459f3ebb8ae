/*
 * What this machine gives to sandboxes, found out by trying: each try in a
 * child of its own namespaces that ends at once, so nothing of it stays.
 */
#ifndef SANDBOX_PROBE_H
#define SANDBOX_PROBE_H

#include <stdbool.h>

#include "base/check.h"

/* What a try in a child came to; sys 0: it worked. */
struct probe_said {
	int sys;
	char what[120]; /* the step that failed, or what was found */
};

/* 0, or -1 with errno and said->what. */
typedef int probe_fn(struct probe_said *said);

/**
 * probe_all(l, data):
 * Append all checks of the kernel. ${data} is where sandboxes' files will be
 * (where it is not there yet: /var/tmp). Must be root. Blocks: about 20 ms.
 */
void probe_all(struct check_list *l, const char *data);

/**
 * probe_try(flags, fn, said):
 * Run ${fn} in a child with the namespaces ${flags} (CLONE_NEW…; 0: none).
 * True if it worked. A child that is killed counts as EFAULT.
 */
bool probe_try(unsigned long flags, probe_fn *fn, struct probe_said *said);

/** probe_fail(said, what): Name the step; -1, errno as it was. */
int probe_fail(struct probe_said *said, const char *what);

/** probe_mount(l, data): Overlays over idmapped layers on the disk of
 * ${data}; what can limit the files. */
void probe_mount(struct check_list *l, const char *data);

/** probe_cgroup(l): Which tree has which controllers, and a rehearsal. */
void probe_cgroup(struct check_list *l);

/** probe_net(l): veth pairs and nftables, for network "internet". */
void probe_net(struct check_list *l);

#endif
