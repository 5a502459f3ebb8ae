"""Calls into parts of the kernel that a sandbox has no use for. Their
arguments are such that one which is let through fails on them."""
import struct
import time

from guard import refused

PAGE = b'\0' * 4096
refused('bpf', 321, 0, PAGE, 72)
refused('perf_event_open', 298, PAGE, 0, -1, -1, 0)
refused('userfaultfd', 323, 0)
refused('init_module', 175, PAGE, 4096, b'')
refused('finit_module', 313, -1, b'', 0)
refused('delete_module', 176, b'none', 0)
refused('kexec_load', 246, 0, 0, 0, -1)
refused('reboot', 169, 0, 0, 0)
refused('swapon', 167, b'/none', 0)
refused('acct', 163, b'/none')
refused('quotactl', 179, 0, b'/none', 0, 0)
refused('clock_settime', 227, 0, struct.pack('qq', int(time.time()), 0))
refused('iopl', 172, 3)
refused('ioperm', 173, 0, 1, 1)
refused('syslog', 103, 2, PAGE, 4096)
refused('sethostname', 170, b'x', -1)
refused('fanotify_init', 300, 0, 0)
refused('modify_ldt', 154, 0, PAGE, 4096)
refused('personality', 135, 0x0400000)
refused('getpid of the x32 ABI', 0x40000000 | 39)
