/* A child of init, on its way to become a program. */
#ifndef SANDBOX_INIT_CLONE_H
#define SANDBOX_INIT_CLONE_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * init_clone(leaf, run, arg, exec):
 * A child in the cgroup ${leaf} that calls run(arg), which does not return.
 * -1 with errno. With ${exec} it is in our memory, on a stack of its own, until
 * it has exec'd or ended, so that no page is copied for it: it only makes
 * calls, we only wait until then, and one more of the kind must not be made.
 * Nobody gets at that memory by the child, whatever its ids are by then: it
 * is not dumpable.
 */
pid_t init_clone(int leaf, void (*run)(void *arg), void *arg, bool exec);

#endif
