"""Kills all that it can reach. Init and the sandbox must go on."""
import os
import signal

from guard import got

for sig in (signal.SIGKILL, signal.SIGSTOP):
    for target in (1, -1):
        try:
            os.kill(target, sig)
        except OSError:
            pass
for pid in range(2, 5000):
    if pid == os.getpid():
        continue
    try:
        os.kill(pid, signal.SIGKILL)
        with open(f'/proc/{pid}/cmdline', 'rb') as file:
            got(f'a foreign process: {pid} {file.read()!r}')
    except OSError:
        pass
