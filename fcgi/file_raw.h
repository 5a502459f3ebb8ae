/* What calls with raw bytes have in common. */
#ifndef FCGI_FILE_RAW_H
#define FCGI_FILE_RAW_H

#include "fcgi/fs_call.h"
#include "fcgi/route.h"

/** file_raw_path(rq): {path} of the URL; "" is the workspace itself. */
const char *file_raw_path(const struct request *rq);

/**
 * file_raw_name(rq, path, download):
 * Content-Disposition with the last part of ${path}, by RFC 5987, and what
 * keeps a browser from running what a tenant's file says as a page of ours.
 */
void file_raw_name(struct request *rq, const char *path, bool download);

/**
 * file_raw_feed(rq, c, e):
 * The request's body to the executor, which may have heard enough before.
 * Errors: those of body_read() and direct_put().
 */
FALLIBLE enum err file_raw_feed(struct request *rq, struct fs_call *c,
				struct errinfo *e);

#endif
