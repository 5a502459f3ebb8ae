"""R16: a program that only sleeps, deaf to every signal, ends by its time."""


def attempt(self):
    for user in ('root', 'sandbox'):
        done = self.bomb(r'''
import signal, time
for sig in range(1, 65):
    try:
        signal.signal(sig, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    time.sleep(1000)
''', user, timeout_ms=400)
        self.assertEqual((done.reason, done.code), ('timed_out', 124), done)
