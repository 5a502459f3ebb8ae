"""Mounts, unmounts, changes the root."""
from guard import refused

refused('mount of a tmpfs', 165, b'none', b'/mnt', b'tmpfs', 0, 0)
refused('mount of proc', 165, b'none', b'/mnt', b'proc', 0, 0)
refused('bind mount', 165, b'/', b'/mnt', b'', 4096, 0)
refused('remount of /proc', 165, b'none', b'/proc', b'', 32, 0)
refused('umount of /proc', 166, b'/proc', 2)
refused('pivot_root', 155, b'/', b'/mnt')
refused('chroot', 161, b'/mnt')
refused('open_tree', 428, -100, b'/', 1)
refused('move_mount', 429, -1, b'', -1, b'', 0)
refused('fsopen', 430, b'tmpfs', 0)
refused('mount_setattr', 442, -100, b'/', 0, b'\0' * 32, 32)
refused('open_by_handle_at', 304, -100, b'\0' * 64, 0)
