"""R3: threads count as processes do: a bomb of them ends at the limit."""


def attempt(self):
    for user in ('root', 'sandbox'):
        done = self.bomb(r'''
import threading
made = 0
try:
    while made < 5000:
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        made += 1
except RuntimeError:
    print(made, flush=True)
os._exit(0)
''', user)
        self.assertLess(int(done.stdout), self.limits['pids'], done)
