"""Tries system calls that a sandbox must not be given; prints those that
were let through, one name a line.

Run as root on a machine itself, such calls would do harm. So nothing is tried
in the first user namespace, and the arguments are such that a call which gets
past the permission check fails on them."""
import ctypes
import errno
import os
import struct
import sys
import time

with open("/proc/self/uid_map") as uid_map:
    if uid_map.read().split() == ["0", "0", "4294967295"]:
        print("not in a user namespace of its own: nothing tried")
        sys.exit(1)

libc = ctypes.CDLL(None, use_errno=True)
NEWUSER, NEWNS, NEWPID, NEWNET = 0x10000000, 0x20000, 0x20000000, 0x40000000
REFUSED = {errno.EPERM, errno.ENOSYS, errno.EACCES, errno.ENOSPC}
page = ctypes.create_string_buffer(4096)

# name: (x86-64 number, arguments).
CALLS = {
    "unshare NEWUSER": (272, NEWUSER),
    "unshare NEWNS": (272, NEWNS),
    "unshare NEWPID": (272, NEWPID),
    "unshare NEWNET": (272, NEWNET),
    "setns": (308, -1, 0),
    "mount": (165, b"none", b"/usr/bin", b"nosuchfs", 0, 0),
    "umount2": (166, b"/usr/bin", 0),
    "pivot_root": (155, b"/usr/bin", b"/usr/bin"),
    "open_tree": (428, -100, b"/", 1),
    "move_mount": (429, -1, b"", -1, b"", 0),
    "fsopen": (430, b"nosuchfs", 0),
    "bpf": (321, 0, page, 72),
    "perf_event_open": (298, page, 0, -1, -1, 0),
    "io_uring_setup": (425, 8, page),
    "userfaultfd": (323, 0),
    "keyctl": (250, 0, -3, 1),
    "add_key": (248, b"user", b"a", b"b", 1, -2),
    "request_key": (249, b"user", b"a", 0, -2),
    "init_module": (175, page, 4096, b""),
    "finit_module": (313, -1, b"", 0),
    "delete_module": (176, b"none", 0),
    "kexec_load": (246, 0, 0, 0, -1),
    "reboot": (169, 0, 0, 0),
    "swapon": (167, b"/none", 0),
    "acct": (163, b"/none"),
    "quotactl": (179, 0, b"/none", 0, 0),
    "clock_settime": (227, 0, struct.pack("qq", int(time.time()), 0)),
    "iopl": (172, 3),
    "ioperm": (173, 0, 1, 1),
    "open_by_handle_at": (304, -100, page, 0),
    "syslog": (103, 2, page, 4096),
    "sethostname": (170, b"x", -1),
    "mknod block": (133, b"/tmp/block", 0o60600, 0x700),
    "mknod char": (133, b"/tmp/char", 0o20600, 0x101),
}

for name, (number, *args) in CALLS.items():
    ctypes.set_errno(0)
    pid = os.fork()
    if pid == 0:
        args = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
        result = libc.syscall(ctypes.c_long(number), *args)
        refused = result == -1 and ctypes.get_errno() in REFUSED
        os._exit(0 if refused else 1 + ctypes.get_errno() % 200)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status > 0:
        print(name, "errno", status - 1)

# clone with a new user namespace.
flags = NEWUSER | 17
pid = libc.syscall(ctypes.c_long(56), ctypes.c_long(flags), 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
if pid > 0:
    os.waitpid(pid, 0)
    print("clone NEWUSER")
