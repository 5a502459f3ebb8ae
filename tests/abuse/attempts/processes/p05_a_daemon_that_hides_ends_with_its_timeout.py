"""P5: a daemon that hides ends with its timeout."""
import outside
import stack


def attempt(self):
    done = self.box.run(['python3', '-c', stack.GUARD + r'''
import signal, time
def hide(depth):
    for sig in range(1, 65):
        try:
            signal.signal(sig, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    if depth < 3:
        hide(depth + 1)
    while True:
        time.sleep(0.05)
        if os.fork():
            os._exit(0)
hide(0)
print('hidden', flush=True)
time.sleep(100)
'''], timeout_ms=800, grace_ms=300)
    self.assertEqual((done.reason, done.code), ('timed_out', 124), done)
    stack.until(2, 'its cgroup is gone', lambda: not outside.leaves(self.box))
