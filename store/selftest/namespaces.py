"""Makes namespaces, or enters those of init."""
import os

from guard import call, got, refused

FLAGS = {'user': 0x10000000, 'mnt': 0x20000, 'pid': 0x20000000,
         'net': 0x40000000, 'ipc': 0x8000000, 'uts': 0x4000000,
         'cgroup': 0x2000000, 'time': 0x80}
for name, flag in FLAGS.items():
    refused('unshare ' + name, 272, flag)
    pid = call(56, flag | 17, 0, 0, 0, 0)[0]
    if pid == 0:
        os._exit(0)
    if pid > 0:
        os.waitpid(pid, 0)
        if name != 'time':  # clone() has no such flag: it is a signal's bit
            got('clone with a new namespace: ' + name)
for name in FLAGS:
    try:
        fd = os.open('/proc/1/ns/' + name, os.O_RDONLY)
    except OSError:
        continue
    refused("setns into init's " + name, 308, fd, 0)
refused('setns by a pidfd', 308, os.pidfd_open(os.getpid()), 0x20000)
