/*
 * Where an archive is unpacked: a directory of our own in the target, whose
 * content is moved out when all of it is there. Paths are names of the archive
 * that bundle_stage_name() has let through; no link is ever followed.
 */
#ifndef SANDBOX_BUNDLE_STAGE_H
#define SANDBOX_BUNDLE_STAGE_H

#include "base/buf.h"
#include "sandbox/bundle.h"
#include "sandbox/fs_temp.h"

struct bundle_stage {
	struct bundle *b;
	int target;
	int root;
	char name[FS_TEMP_LEN]; /* of root in target; "": none */
	struct buf dirs;        /* struct dir_late and path of each directory */
	struct buf links;       /* the path of each symbolic link */
	bool self;              /* the root has these: */
	mode_t mode;
	struct timespec mtime;
};

#define BUNDLE_STAGE_INIT(bundle)                                              \
	{                                                                      \
		.b = (bundle), .target = -1, .root = -1,                       \
		.dirs = BUF_INIT(256U << 20), .links = BUF_INIT(64U << 20),    \
	}

/** bundle_stage_open(s, path): Make it in the directory ${path}. */
int bundle_stage_open(struct bundle_stage *s, const char *path);

/** bundle_stage_close(s): For OWN; what was not moved out is removed. */
void bundle_stage_close(struct bundle_stage *s);

/**
 * bundle_stage_name(b, name, out):
 * ${name} without what says nothing, "" for the root itself. Refuses absolute
 * ones, .., and what is too long or too deep.
 */
int bundle_stage_name(struct bundle *b, const char *name, char out[4096]);

/** bundle_stage_file(s, path): A new empty file, open for writing, in place of
 * what had the name before; -1. */
int bundle_stage_file(struct bundle_stage *s, const char *path);

/** bundle_stage_dir(s, path, mode, mtime): A directory, if there is none. */
int bundle_stage_dir(struct bundle_stage *s, const char *path, mode_t mode,
		     struct timespec mtime);

/** bundle_stage_link(s, path, text), _hard(s, path, to): Links. */
int bundle_stage_link(struct bundle_stage *s, const char *path,
		      const char *text);
int bundle_stage_hard(struct bundle_stage *s, const char *path, const char *to);

/** bundle_stage_self(s, mode, mtime): What the root itself is. */
void bundle_stage_self(struct bundle_stage *s, mode_t mode,
		       struct timespec mtime);

/** bundle_stage_own(s, path, uid, gid): Give it to them, if we are root. */
void bundle_stage_own(struct bundle_stage *s, const char *path, uid_t uid,
		      gid_t gid);

/** bundle_stage_time(s, path, mtime): Of a symbolic link. */
void bundle_stage_time(struct bundle_stage *s, const char *path,
		       struct timespec mtime);

/** bundle_stage_dress(s, root): Modes and times of the directories, which are
 * below ${root} by now. */
void bundle_stage_dress(struct bundle_stage *s, int root);

/** bundle_stage_inside(s): Refuse symbolic links that lead outside. */
int bundle_stage_inside(struct bundle_stage *s);

/**
 * bundle_stage_commit(s):
 * Move all into the target. What is in the way of it is found before the first
 * is moved: a directory for a file, or something else for a directory.
 */
int bundle_stage_commit(struct bundle_stage *s);

#endif
