/*
 * One file operation: its arguments and the answer in the making. Functions
 * of fs_* return 0, or -1 with the failure in op->head.
 */
#ifndef SANDBOX_FS_OP_H
#define SANDBOX_FS_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/fs_msg.h"

struct fs_op {
	const char *const *arg; /* after the operation's name */
	int args;               /* how many there are */
	struct fs_head head;
	/*
	 * What was replaced: removing it may wait for the disk, so it stays
	 * open until the answer went out and we end. 0: none.
	 */
	int hold;
	bool told; /* the head went out; what follows is the operation's */
};

/** fs_fail(op, sys): The failure of errno ${sys}. Returns -1. */
int fs_fail(struct fs_op *op, int sys);

/**
 * fs_fail_fd(op, fd, sys): That of reading or writing ${fd}. Returns -1.
 * A file of /proc answers EIO to what it does not do; no disk is broken then.
 */
int fs_fail_fd(struct fs_op *op, int fd, int sys);

/** fs_fail_as(op, status): A failure of our own. Returns -1. */
int fs_fail_as(struct fs_op *op, enum fs_status status);

/** fs_flag(op, i, v), fs_number(op, i, v): Argument ${i}, checked. */
int fs_flag(struct fs_op *op, int i, bool *v);
int fs_number(struct fs_op *op, int i, uint64_t *v);

/** fs_meta_of(dir, name, st, meta): What is told of a file. The access
 * bits are those of the caller, of a link's target if it is a link. */
void fs_meta_of(int dir, const char *name, const struct stat *st,
		struct fs_meta *meta);

/** fs_meta_bare(st, meta): The same without those bits. */
void fs_meta_bare(const struct stat *st, struct fs_meta *meta);

/** fs_head_of(op, dir, name, st): The same, and what the head tells besides. */
void fs_head_of(struct fs_op *op, int dir, const char *name,
		const struct stat *st);

/** fs_mode(op, i, mode): Argument ${i}, an octal mode. */
int fs_mode(struct fs_op *op, int i, uint32_t *mode);

/** fs_if(op, i, st): FS_MISMATCH unless the file that is there (${st} NULL:
 * none) is as argument ${i}, if there is one, wants it. */
int fs_if(struct fs_op *op, int i, const struct stat *st);

/** fs_if_new(op, i): It wants that there is none. */
bool fs_if_new(const struct fs_op *op, int i);

/* ---- fs_io.c ---- */

/** fs_send(p, n): All ${n} bytes to fd 1; -1 when nobody reads. */
int fs_send(const void *p, size_t n);

/** fs_send_head(op): The head to fd 1. */
int fs_send_head(struct fs_op *op);

/** fs_take_all(p, n): Exactly ${n} bytes of fd 0; 1: none came any more; -1:
 * they broke off. */
int fs_take_all(void *p, size_t n);

/** fs_take(op, fd, at, n): Chunks of fd 0 to ${fd}, from ${at} on if that
 * is not negative. ${n}: bytes written. Fails with FS_CUT when they break off
 * and with what write(2) says. */
int fs_take(struct fs_op *op, int fd, off_t at, uint64_t *n);

/** fs_pour(op, from, to): Copy the rest of file ${from} to ${to}. */
int fs_pour(struct fs_op *op, int from, int to);

/* ---- the operations, by the arguments that base/fs_msg.h lists ---- */

/** fs_read_file(op): Send the head and the bytes. */
int fs_read_file(struct fs_op *op);

/** fs_read_serve(op): Send the head, and what is asked for. */
int fs_read_serve(struct fs_op *op);

/**
 * fs_write_file(op), fs_write_append(op), fs_write_patch(op):
 * Take the content from fd 0; the new size in the head. A file that fails to
 * be written or appended to is as it was.
 */
int fs_write_file(struct fs_op *op);
int fs_write_append(struct fs_op *op);
int fs_write_patch(struct fs_op *op);

/** fs_list_dir(op): Send the head and the records. */
int fs_list_dir(struct fs_op *op);

/** fs_watch_tree(op), fs_watch_count(op): watch and check of watch_msg.h. */
int fs_watch_tree(struct fs_op *op);
int fs_watch_count(struct fs_op *op);

/** fs_name_stat(op), fs_name_delete(op), fs_name_mkdir(op): One path. */
int fs_name_stat(struct fs_op *op);
int fs_name_delete(struct fs_op *op);
int fs_name_mkdir(struct fs_op *op);
int fs_name_chmod(struct fs_op *op);

/** fs_move_rename(op), fs_move_into(op), fs_move_copy(op): Two paths;
 * head.which is set. */
int fs_move_rename(struct fs_op *op);
int fs_move_into(struct fs_op *op);
int fs_move_copy(struct fs_op *op);

#endif
