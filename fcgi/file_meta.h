/* What is told of a file, in lists and by itself. */
#ifndef FCGI_FILE_META_H
#define FCGI_FILE_META_H

#include "base/fs_msg.h"
#include "fcgi/json_out.h"

/** file_meta_put(o, m): type, size, modifiedAt, mode, permissions. */
void file_meta_put(struct json_out *o, const struct fs_meta *m);

#endif
