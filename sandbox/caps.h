/* The capability lists of a sandbox, in one place. */
#ifndef SANDBOX_CAPS_H
#define SANDBOX_CAPS_H

#include <linux/capability.h>
#include <stdint.h>

#define CAP_BIT(c) (UINT64_C(1) << (c))

/*
 * What "root" of a sandbox may do, inside its own user namespace and to its
 * own files only: what package managers need, and no power over namespaces.
 */
#define CAPS_ROOT                                                              \
	(CAP_BIT(CAP_CHOWN) | CAP_BIT(CAP_DAC_OVERRIDE) |                      \
	 CAP_BIT(CAP_FOWNER) | CAP_BIT(CAP_FSETID) | CAP_BIT(CAP_KILL) |       \
	 CAP_BIT(CAP_SETGID) | CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETFCAP))

/* Init's own: the same, and to take them from its children. */
#define CAPS_INIT (CAPS_ROOT | CAP_BIT(CAP_SETPCAP))

/*
 * A zygote's, over the machine: what setns() into a sandbox asks for. Its
 * children have them until they are inside, and none of them after that.
 */
#define CAPS_ZYGOTE                                                            \
	(CAP_BIT(CAP_SYS_ADMIN) | CAP_BIT(CAP_SYS_CHROOT) |                    \
	 CAP_BIT(CAP_SYS_PTRACE) | CAP_BIT(CAP_SETGID) | CAP_BIT(CAP_SETUID) | \
	 CAP_BIT(CAP_SETPCAP))

#endif
