/*
 * Limits: what each is called, and who may set it how high. A plan has a
 * value for every one, a tenant may differ from its plan, a sandbox may ask
 * for less. What holds for a sandbox is worked out at each read, so a plan
 * that is changed reaches every sandbox at its next start.
 *
 * Some bound the tenant itself and not each of its sandboxes: these are a
 * plan's and a tenant's only, and no sandbox asks for them.
 *
 * The network's policy and lists go the same way. Lists are texts: CIDRs
 * (base/cidr.h) apart by one blank.
 */
#ifndef STORE_CTL_LIMIT_H
#define STORE_CTL_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cidr.h"
#include "base/err.h"

/* X(name, JSON name, column, least, most) */
#define CTL_LIMITS(X)                                                          \
	X(MEMORY, "memoryBytes", memory_bytes, 16 << 20, INT64_C(1) << 40)     \
	X(CPU, "cpuMillis", cpu_millis, 10, 1024000)                           \
	X(CPU_WEIGHT, "cpuWeight", cpu_weight, 1, 10000)                       \
	X(PIDS, "pids", pids, 16, 65536)                                       \
	X(DISK, "diskBytes", disk_bytes, 4 << 20, INT64_C(1) << 42)            \
	X(INODES, "inodes", inodes, 256, UINT32_MAX)                           \
	X(OPEN_FILES, "openFiles", open_files, 256, 1 << 20)                   \
	X(FILE_SIZE, "fileSizeBytes", file_size_bytes, 1 << 20,                \
	  INT64_C(1) << 42)                                                    \
	X(TMP, "tmpBytes", tmp_bytes, 64 << 10, INT64_C(1) << 40)              \
	X(CONTEXTS, "contexts", contexts, 1, 1000)                             \
	X(PROCESSES, "processes", processes, 1, 1000)                          \
	X(OUTPUT, "outputBytes", output_bytes, 1 << 10, 64 << 20)              \
	X(LOG, "logBytes", log_bytes, 64 << 10, INT64_C(1) << 40)              \
	X(PROCESS_LOG, "processLogBytes", process_log_bytes, 64 << 10,         \
	  INT64_C(1) << 40)                                                    \
	X(WALL, "wallMs", wall_ms, 100, INT64_C(7) * 24 * 3600 * 1000)

/* The same, of a tenant's sandboxes taken together. */
#define CTL_TENANT_LIMITS(X)                                                   \
	X(SANDBOXES, "sandboxes", sandboxes, 1, 1000000)                       \
	X(TENANT_LOG, "tenantLogBytes", tenant_log_bytes, 64 << 10,            \
	  INT64_C(1) << 44)                                                    \
	X(BACKUP, "backupBytes", backup_bytes, 1 << 20, INT64_C(1) << 44)

enum ctl_limit {
#define X(name, json, column, min, max) LIMIT_##name,
	CTL_LIMITS(X)
	/* Those of a sandbox come first. */
	LIMIT_COUNT,
	LIMIT_LAST_OF_SANDBOX = LIMIT_COUNT - 1,
	CTL_TENANT_LIMITS(X)
#undef X
	    LIMIT_ALL
};

/* 0: not given here; what is above decides. */
struct ctl_limits {
	int64_t of[LIMIT_ALL];
};

struct ctl_limit_info {
	const char *name;  /* in JSON and on the command line */
	const char *param; /* the SQL parameter of its column */
	int64_t min;
	int64_t max;
};

extern const struct ctl_limit_info ctl_limit_table[LIMIT_ALL];

#define CTL_NET_WORD_MAX 15
#define CTL_NET_RANGES_MAX 16 /* of each list that a tenant or sandbox has */

/* "": not given here. allow "" at the end of all: anywhere. */
struct ctl_net {
	char policy[CTL_NET_WORD_MAX + 1]; /* "none", "internet" */
	char allow[CIDR_LIST_TEXT_MAX + 1];
	char deny[CIDR_LIST_TEXT_MAX + 1];
};

/** ctl_limit_find(name): By its JSON name; LIMIT_ALL: there is no such. */
enum ctl_limit ctl_limit_find(const char *name);

/** ctl_limits_over(low, high, out): ${low} where it says something. */
void ctl_limits_over(const struct ctl_limits *low,
		     const struct ctl_limits *high, struct ctl_limits *out);

/**
 * ctl_limits_within(asked, most, out):
 * What holds for a sandbox that asked for ${asked} of a tenant's ${most}:
 * the lesser of both. Two tmpfs of LIMIT_TMP leave a quarter of the memory.
 */
void ctl_limits_within(const struct ctl_limits *asked,
		       const struct ctl_limits *most, struct ctl_limits *out);

/** ctl_limits_tmp_max(memory_bytes): The most that LIMIT_TMP can be. */
int64_t ctl_limits_tmp_max(int64_t memory_bytes);

/** ctl_net_over(low, high, out): ${low} where it says something. */
void ctl_net_over(const struct ctl_net *low, const struct ctl_net *high,
		  struct ctl_net *out);

/**
 * ctl_net_within(asked, most, out):
 * What holds for a sandbox: the lesser policy (of one that asked for none:
 * none), all that is denied, and what both allow. Where they allow nothing
 * in common the policy is none.
 */
void ctl_net_within(const struct ctl_net *asked, const struct ctl_net *most,
		    struct ctl_net *out);

/**
 * ctl_limits_parse(text, limits, net, e):
 * One "name=value" as the operator writes it: a number, with K, M, G or T
 * for a size; "none" or "internet" for network; CIDRs apart by commas for
 * allow and deny; "default" for what is above to decide.
 * Errors: ERR_ARG, as a sentence.
 */
FALLIBLE enum err ctl_limits_parse(const char *text, struct ctl_limits *limits,
				   struct ctl_net *net, struct errinfo *e);

#endif
