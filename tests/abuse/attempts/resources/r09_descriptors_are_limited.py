"""R9: descriptors are limited."""
import outside


def attempt(self):
    before = outside.count_fds(self.stack.process.pid)
    for user in ('root', 'sandbox'):
        done = self.bomb(r'''
import socket
made = 0
try:
    while made < 200000:
        os.dup(1)
        made += 1
except OSError as e:
    print(made, errno.errorcode[e.errno])
''', user)
        made, why = done.stdout.split()
        self.assertEqual(why, 'EMFILE')
        self.assertLessEqual(int(made), 65536)
    self.assertEqual(outside.count_fds(self.stack.process.pid), before)
