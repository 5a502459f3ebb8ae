/* What is mounted, once more, by the kernel's own list. */
#ifndef SANDBOX_MOUNT_CHECK_H
#define SANDBOX_MOUNT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

/* How many mounts a namespace has, and the newest one's unique number. */
struct mount_count {
	int n; /* 0: this kernel (before 6.8) does not tell */
	uint64_t newest;
};

/** mount_count(): Of ours, as seen from its root. */
struct mount_count mount_count(void);

/** mount_count_newer(before): How many there are since. Those of before may
 * become fewer meanwhile: a place that is removed takes what is mounted there
 * out of every namespace. */
int mount_count_newer(const struct mount_count *before);

/**
 * mount_check_count(before, made):
 * After the pivot: there are ${made} mounts, each newer than those of
 * ${before}. True if the kernel does not tell: then mount_check() must. What
 * that reads takes longer than all else in a start but the mounts.
 */
bool mount_check_count(const struct mount_count *before, int made);

/**
 * mount_check(self):
 * After the pivot: every mount that our namespace has is one that mount.c
 * made, is the only one at its place (but below /proc), and gets nothing from
 * other namespaces. False, with errno, if not or if it cannot be told.
 * ${self}: a descriptor of our own directory in /proc. Fit for use between
 * clone and exec.
 */
bool mount_check(int self);

/** mount_check_text(text): The same for a text of mountinfo (proc(5)); it is
 * cut into pieces. */
bool mount_check_text(char *text);

#endif
