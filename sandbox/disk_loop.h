/* A file system of its own in a file, on a loop device that frees itself. */
#ifndef SANDBOX_DISK_LOOP_H
#define SANDBOX_DISK_LOOP_H

#include <stdbool.h>

#include "base/err.h"

/**
 * disk_loop_usable():
 * Loop devices and ext4 are there. Blocks: no.
 */
bool disk_loop_usable(void);

/**
 * disk_loop_mount(image, mount, e):
 * Mount the ext4 file system in the file ${image}, which the caller has
 * locked with flock(): the loop device holds that open file, so the lock
 * lasts as long as the mount, and nobody mounts one image twice.
 * Owns: ${mount} is a detached mount. When its last user is gone it is
 * unmounted and the loop device freed, whoever dies in which order.
 * Errors: ERR_LIMIT (no loop device), ERR_IO. Blocks: 1 to 5 ms.
 */
FALLIBLE enum err disk_loop_mount(int image, int *mount, struct errinfo *e);

/**
 * disk_loop_mount_new(image, template, mount, e):
 * Likewise a new image, which gets what is in the template. That is written
 * through the device: an image with data not yet on the disk is written there
 * by the kernel, and waited for, before it becomes a device.
 */
FALLIBLE enum err disk_loop_mount_new(int image, int template_fd, int *mount,
				      struct errinfo *e);

/**
 * disk_loop_forsake(mount, host):
 * Its files are to be deleted: write nothing of them back any more. Whoever
 * still uses them gets EIO. Nothing happens unless it is a file system on a
 * loop device and another one than that of ${host}, where the images lie.
 * (A remount without barriers would do, but waits for 20 ms and makes the
 * overlay's end wait too.) Blocks: no.
 */
void disk_loop_forsake(int mount, int host);

#endif
