"""Init has the descriptors it needs."""
import os

import outside


def attempt(self):
    _, init = self.box.pids()
    self.box.sh('true')
    found = outside.fds(init)
    self.assertEqual([os.path.basename(found.get(n, ''))
                      for n in range(3)], ['null'] * 3)
    self.assertTrue(found[3].startswith('socket:'))
    self.assertIn(self.box.id, found[4])
    self.assertEqual(found[5], 'anon_inode:seccomp notify')
    self.assertEqual(sorted(found[n] for n in sorted(found)[6:]),
                     ['anon_inode:[eventpoll]', 'anon_inode:[signalfd]'])
