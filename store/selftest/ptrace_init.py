"""Takes hold of PID 1."""
import ctypes
import os
import signal

from guard import got, refused, unreadable

ATTACH, SEIZE = 16, 0x4206
for name, request in (('attach', ATTACH), ('seize', SEIZE)):
    refused('ptrace ' + name + ' of init', 101, request, 1, 0, 0)
try:
    os.kill(1, signal.SIGCONT)  # where it was let through, it has stopped
except OSError:
    pass
page = ctypes.create_string_buffer(4096)
refused("process_vm_readv of init", 310, 1, page, 1, page, 1, 0)
refused("process_vm_writev of init", 311, 1, page, 1, page, 1, 0)
refused('pidfd_getfd of init', 438, os.pidfd_open(1), 0, 0)
refused('kcmp', 312, 1, os.getpid(), 0, 0, 0)
for name in ('mem', 'maps', 'environ', 'syscall', 'stack', 'auxv'):
    unreadable('/proc/1/' + name)
for name in ('fd', 'map_files', 'task/1/fd'):
    try:
        if os.listdir('/proc/1/' + name):
            got('listed /proc/1/' + name)
    except OSError:
        pass
