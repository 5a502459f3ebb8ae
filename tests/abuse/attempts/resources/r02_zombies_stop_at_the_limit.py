"""R2: children that nobody waits for stop at the limit."""


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
