/* URLs of repositories: which ones are taken, and their parts. */
#ifndef BASE_GIT_URL_H
#define BASE_GIT_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define GIT_URL_MAX 4096

/**
 * git_url_ok(url):
 * ${url} may be given to git: http, https, ssh, git or file, the short form
 * user@host:path, or a path that begins with / or a dot. Nothing that git
 * would take for an option or for a program to run.
 */
bool git_url_ok(const char *url);

/**
 * git_url_is_http(url):
 * It is http or https.
 */
bool git_url_is_http(const char *url);

/**
 * git_url_split(url, clean, user, secret):
 * ${clean}: ${url} without a user and password if it is http; those, decoded,
 * in ${user} and ${secret}, which stay empty if there are none. False when
 * they are malformed or hold control characters.
 */
bool git_url_split(const char *url, struct buf *clean, struct buf *user,
		   struct buf *secret);

/**
 * git_url_origin(url, out):
 * Whom ${url} speaks to, so that equal ones are equal texts: "https://host",
 * "ssh://host:2222", in lower case, without user and usual port. False for
 * what speaks to nobody: paths and files.
 */
bool git_url_origin(const char *url, struct buf *out);

/** git_url_is_local(url): A path, or file://. */
bool git_url_is_local(const char *url);

/**
 * git_url_name(url, out):
 * The directory's name that git would choose: the last part without .git;
 * false if there is none.
 */
bool git_url_name(const char *url, struct buf *out);

#endif
