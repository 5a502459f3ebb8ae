/* How init's children lose what init has. */
#ifndef SANDBOX_INIT_CONFINE_H
#define SANDBOX_INIT_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * init_confine_child(user, fs):
 * Become the sandbox's user for good: ids, groups, capabilities (none, or
 * exactly the short list for root), no_new_privs, clone3 answered with
 * ENOSYS. Everything is read back; false (errno set) if anything is not as
 * it must be, and then the child must _exit.
 */
bool init_confine_child(uint8_t user, bool fs);

#endif
