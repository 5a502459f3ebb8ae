/*
 * The file executor: one file operation inside a sandbox, as its user, in a
 * child that init forks. It works on descriptors and names as bytes, without
 * a shell. What it says on fd 1 and reads on fd 0 is base/fs_msg.h.
 */
#ifndef SANDBOX_FS_H
#define SANDBOX_FS_H

/**
 * fs_run(argc, argv):
 * Do the operation argv[0] on its arguments; relative paths start at the
 * current directory. Returns an exit code: 0 when an answer went out whole,
 * also one that tells a failure; 1 when it could not be told.
 * Blocks: until it is done or fd 0 or fd 1 is closed at the other end; never
 * on a FIFO, a device or a socket that a path names.
 * Threads: none, and none may run: it sets the umask and ignores SIGPIPE.
 */
int fs_run(int argc, const char *const *argv);

#endif
