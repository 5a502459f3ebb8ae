/*
 * What the broker finds or makes on the machine before it serves: users,
 * directories, programs, sockets. Each fills its part of struct broker.
 */
#ifndef SANDBOX_BROKER_PLACE_H
#define SANDBOX_BROKER_PLACE_H

#include "sandbox/broker.h"

/** broker_find_users(b, e): Ids of warren and www-data. Errors:
 * ERR_NOT_FOUND. */
FALLIBLE enum err broker_find_users(struct broker *b, struct errinfo *e);

/** broker_open_data(b, e): The parts of the data directory that are root's.
 * Errors: ERR_IO, ERR_DENIED (they are not root's alone). */
FALLIBLE enum err broker_open_data(struct broker *b, struct errinfo *e);

/** broker_make_run(b, e): The run directory and all in it. Errors: ERR_IO. */
FALLIBLE enum err broker_make_run(struct broker *b, struct errinfo *e);

/** broker_lock_run(b, e): No other broker uses it. Errors: ERR_STATE.
 * Blocks: 2 s at most. */
FALLIBLE enum err broker_lock_run(struct broker *b, struct errinfo *e);

/** broker_open_programs(b, dir, e): Those beside our own, which ${dir}
 * becomes. Owns: ${dir} is the caller's. Errors: ERR_IO. */
FALLIBLE enum err broker_open_programs(struct broker *b, int *dir,
				       struct errinfo *e);

/**
 * broker_listen(b, name, type, gid, out, e):
 * A listening socket at R/${name}, which the group may use.
 * Owns: ${out} is the caller's. Errors: ERR_IO.
 */
FALLIBLE enum err broker_listen(struct broker *b, const char *name, int type,
				gid_t gid, int *out, struct errinfo *e);

#endif
