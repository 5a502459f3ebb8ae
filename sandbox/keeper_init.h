/* The keeper's link to init, which it does not trust. */
#ifndef SANDBOX_KEEPER_INIT_H
#define SANDBOX_KEEPER_INIT_H

#include "sandbox/keeper.h"

/** init_link_open(k, fd, pidfd, e): Watch the socket and the process. */
FALLIBLE enum err init_link_open(struct keeper *k, int fd, int pidfd,
				 struct errinfo *e);

/** init_link_send(k, type, tag, payload, fds, nfds): Ask init; the
 * descriptors become the link's. A full queue ends the sandbox. */
void init_link_send(struct keeper *k, uint16_t type, uint32_t tag,
		    const struct buf *payload, const int *fds, int nfds);

/** keeper_gone(k, why): The sandbox is over: say so to all and leave. */
void keeper_gone(struct keeper *k, const char *why);

#endif
