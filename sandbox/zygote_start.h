/* From nothing to a zygote in its image: namespaces, tree, powers, exec. */
#ifndef SANDBOX_ZYGOTE_START_H
#define SANDBOX_ZYGOTE_START_H

#include <sys/types.h>

#include "sandbox/broker.h"

struct zygote_child {
	pid_t pid;
	int pidfd;
	int socket; /* ours; see zygote_msg.h */
};

/**
 * zygote_start(b, image, argv, out, e):
 * Start ${argv} in a private, read-only tree of ${image}, in empty network,
 * IPC and UTS namespaces, with an environment of three names, CAPS_ZYGOTE,
 * the socket, the filter and no other descriptor. What goes wrong after the
 * clone shows as its end. Owns: the caller closes and reaps.
 * Errors: ERR_NOT_FOUND (no such image), ERR_IO. Blocks: no.
 */
FALLIBLE enum err zygote_start(struct broker *b, const char *image,
			       const char *const *argv,
			       struct zygote_child *out, struct errinfo *e);

#endif
