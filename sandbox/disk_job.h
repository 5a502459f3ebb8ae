/*
 * An image that is there already is mounted by a child, and checked by one
 * before if a crash of the host left it: both write to the disk and wait for
 * it, which the broker's loop must not.
 */
#ifndef SANDBOX_DISK_JOB_H
#define SANDBOX_DISK_JOB_H

#include <stdbool.h>
#include <sys/types.h>

struct disk_root;

struct disk_job {
	int image;  /* locked while a child runs */
	int pidfd;  /* of the child, or -1 */
	int socket; /* from a child that mounts; -1: it checks */
	int mount;  /* what it mounted, for disk_open(); or -1 */
};

#define DISK_JOB_NONE                                                          \
	{                                                                      \
		.image = -1, .pidfd = -1, .socket = -1, .mount = -1            \
	}

enum disk_need {
	DISK_NEED_NOTHING, /* disk_open() can go on */
	DISK_NEED_WAIT,    /* still being unmounted: ask again soon */
	DISK_NEED_JOB      /* wait for the job's pidfd */
};

/**
 * disk_prepare(root, id, job):
 * To be asked before disk_open(), until it needs nothing. Owns: the caller
 * ends the job (disk_job_end()) when its child has ended, and closes it
 * (disk_job_close()) at the end or to give it up. Blocks: no.
 */
enum disk_need disk_prepare(const struct disk_root *root, const char *id,
			    struct disk_job *job);

/** disk_job_end(job): Reap the child; true: it has done it. */
bool disk_job_end(struct disk_job *job);

/** disk_job_close(job): Kill the child if there is one, close all. */
void disk_job_close(struct disk_job *job);

#endif
