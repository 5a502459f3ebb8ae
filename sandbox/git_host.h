/* Whether an SSH host is one that the request names. */
#ifndef SANDBOX_GIT_HOST_H
#define SANDBOX_GIT_HOST_H

#include <git2.h>
#include <stdbool.h>

#include "base/git_msg.h"

/**
 * git_host_known(rq, host, key, why, size):
 * Its key is in the request's known_hosts or is one of its fingerprints.
 * A line that names ${host} at any port counts; names that are hashed are not
 * read. Otherwise ${why} says what key it has, for people to compare.
 */
bool git_host_known(const struct git_request *rq, const char *host,
		    const git_cert_hostkey *key, char *why, size_t size);

#endif
