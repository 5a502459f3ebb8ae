"""P9: a subreaper leaves nothing."""
import outside
import stack


def attempt(self):
    done = self.box.run(['python3', '-c', stack.GUARD + r'''
import signal, time
libc.prctl(36, 1, 0, 0, 0)
libc.prctl(1, 0, 0, 0, 0)
for i in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            libc.prctl(36, 1, 0, 0, 0)
            time.sleep(100)
        os._exit(0)
time.sleep(100)
'''], timeout_ms=500, grace_ms=100)
    self.assertEqual(done.reason, 'timed_out', done)
    stack.until(2, 'its cgroup is gone', lambda: not outside.leaves(self.box))
