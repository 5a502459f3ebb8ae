"""R22: a million look-ups of names that are not there end in memory that is
the sandbox's own, within its limit."""
import stack
from test_disk_life import usage


def attempt(self):
    self.box.sh('true')
    for user in ('root', 'sandbox'):
        done = self.bomb(r'''
for place in ('/tmp', '/usr/bin', '/workspace', '/proc'):
    for i in range(150000):
        try:
            os.stat('%s/missing-%d-%s' % (place, i, 'x' * 100))
        except FileNotFoundError:
            pass
print('all')
''', user, timeout_ms=30000)
        self.assertIn(done.reason, ('exited', 'out_of_memory'), done)
    self.assertLessEqual(usage(self.box)['memory_used'],
                         self.limits['memory'])
    self.assertLess(stack.memory_of(self.box.pids()[0]), 64 * stack.MIB)
