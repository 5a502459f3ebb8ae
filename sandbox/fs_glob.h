/*
 * Which paths of a tree are meant by globs: "*" and "?" stand for bytes of one
 * name, "**" for any number of directories. One without a slash is tried on
 * each name of a path ("*.ts", "node_modules"), another on the path from the
 * top ("src/gen"). What is below a path that is meant is meant, too.
 */
#ifndef SANDBOX_FS_GLOB_H
#define SANDBOX_FS_GLOB_H

#include <stdbool.h>

/** fs_glob_hits(glob, path): ${path} has no slash at its ends. */
bool fs_glob_hits(const char *glob, const char *path);

#endif
