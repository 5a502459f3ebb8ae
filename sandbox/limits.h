/* What every process of a sandbox starts with, whoever made it. */
#ifndef SANDBOX_LIMITS_H
#define SANDBOX_LIMITS_H

/**
 * limits_set():
 * The resource limits of a sandbox's processes. 0, or -1 with errno.
 * Fit for use between clone and exec.
 */
int limits_set(void);

/** limits_oom(): Killed before the machine's own when its memory is short. */
int limits_oom(void);

/** limits_keyring(): A session keyring of its own, or none at all. */
int limits_keyring(void);

/** limits_signals(): Every signal as after boot, none blocked. */
void limits_signals(void);

#endif
