"""I12: a slot used again shows nothing of before."""


def attempt(self):
    old = self.stack.sandbox()
    old.sh('echo secret > /tmp/s; echo secret > /workspace/s; '
           'echo secret > /dev/shm/s; echo secret > /usr/share/s; '
           'python3 -c "import ctypes; '
           'print(ctypes.CDLL(None).shmget(77, 4096, 0o1666))"')
    old.destroy()
    for _ in range(12):
        fresh = self.stack.sandbox()
        seen = fresh.sh('cat /tmp/s /workspace/s /dev/shm/s /usr/share/s; '
                        'tail -n +2 /proc/sysvipc/shm; ls /tmp')
        self.assertEqual(seen.stdout, '')
        fresh.destroy()
