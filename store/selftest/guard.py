"""What every attempt starts with. It refuses to run anywhere but in the user
namespace of a sandbox: on a machine itself, an attempt would do harm.

An attempt calls `got` with whatever should have been refused and was not;
at its end it prints that, one line each, and its exit status is 1. Status 2
is a refusal to run."""
import atexit
import ctypes
import errno
import os
import sys

with open('/proc/self/uid_map') as uid_map:
    ids = uid_map.read().split()
if len(ids) < 3 or int(ids[1]) < 1 << 24 or int(ids[2]) != 65536:
    print('not in a sandbox: nothing is tried')
    sys.exit(2)

libc = ctypes.CDLL(None, use_errno=True)
through = []


def got(what):
    through.append(what)


def call(number, *args):
    """A system call by its x86-64 number: (result, errno)."""
    ctypes.set_errno(0)
    args = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    result = libc.syscall(ctypes.c_long(number), *args)
    return result, ctypes.get_errno()


def refused(name, number, *args,
            by=(errno.EPERM, errno.ENOSYS, errno.EACCES, errno.ENOSPC,
                errno.EAFNOSUPPORT)):
    """In a child, since what is let through may change the caller. Death by
    SIGSYS is a refusal too."""
    pid = os.fork()
    if pid == 0:
        result, error = call(number, *args)
        os._exit(0 if result == -1 and error in by else 1)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) > 0:
        got(name)


def unreadable(path):
    try:
        with open(path, 'rb', buffering=0) as file:
            if file.read(1):
                got('read ' + path)
    except OSError:
        pass


def unwritable(path, data=b'x'):
    try:
        fd = os.open(path, os.O_WRONLY)
        os.write(fd, data)
        got('wrote ' + path)
    except OSError:
        pass


def end():
    if through:
        print('\n'.join(through), flush=True)
        os._exit(1)


atexit.register(end)
