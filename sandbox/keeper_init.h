/* The keeper's link to init, which it does not trust. */
#ifndef SANDBOX_KEEPER_INIT_H
#define SANDBOX_KEEPER_INIT_H

#include "sandbox/keeper.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16: may it be sent descriptors? */
#endif

/** init_link_open(k, fd, pidfd, e): Watch the socket and the process. */
FALLIBLE enum err init_link_open(struct keeper *k, int fd, int pidfd,
				 struct errinfo *e);

/** init_link_send(k, type, tag, payload): Tell init, which is woken for it.
 * A full queue ends the sandbox. */
void init_link_send(struct keeper *k, uint16_t type, uint32_t tag,
		    const struct buf *payload);

/**
 * init_link_spawn(k, tag, payload, fds, nfds, e):
 * Ask init for a program, when those asked for before are on their way.
 * Owns: takes what ${payload} holds and ${fds}; on failure they stay the
 * caller's. Errors: ERR_NOMEM, ERR_GONE.
 */
FALLIBLE enum err init_link_spawn(struct keeper *k, uint32_t tag,
				  struct buf *payload, const int *fds, int nfds,
				  struct errinfo *e);

/**
 * init_link_adopt(k, tag, pid, fd):
 * Ask init to adopt, in that line, with the listener ${fd} unless that is -1.
 * Owns: takes ${fd}. False: no memory, or the sandbox is gone; it is kept.
 */
bool init_link_adopt(struct keeper *k, uint32_t tag, uint32_t pid, int *fd);

/** keeper_gone(k, why): The sandbox is over: say so to all and leave. */
void keeper_gone(struct keeper *k, const char *why);

#endif
