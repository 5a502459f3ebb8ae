"""Forks until it is refused; the argument is the limit."""
import errno
import os
import signal
import sys

from guard import got

LIMIT = int(sys.argv[1])
pids = []
try:
    while len(pids) <= LIMIT:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        pids.append(pid)
    got(f'{len(pids)} processes with a limit of {LIMIT}')
except OSError as error:
    if error.errno != errno.EAGAIN:
        got(f'refused by {error.strerror}')
for pid in pids:
    os.kill(pid, signal.SIGKILL)
for pid in pids:
    os.waitpid(pid, 0)
