"""R2: zombies and threads stop at the limit."""


def attempt(self):
    for user in ('root', 'sandbox'):
        done = self.bomb(r'''
made = 0
try:
    while made < 5000:
        if os.fork() == 0:
            os._exit(0)
        made += 1
except OSError as e:
    print(made, errno.errorcode[e.errno])
''', user)
        made, why = done.stdout.split()
        self.assertEqual(why, 'EAGAIN')
        self.assertLess(int(made), self.limits['pids'])
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
