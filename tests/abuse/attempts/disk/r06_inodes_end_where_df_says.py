"""R6: inodes end where df says."""
from test_disk_life import INODES


def attempt(self):
    box = self.another()
    _, free = self.free(box)
    self.assertGreaterEqual(free, INODES - 1)
    self.assertLess(free, INODES + 16 * 2)
    done = box.sh('mkdir /workspace/d && cd /workspace/d && i=0; '
                  'while : >$i; do i=$((i+1)); done; echo $i; exit 3')
    self.assertEqual((done.code, done.reason), (3, 'disk_limit'), done)
    self.assertEqual(int(done.stdout), free - 1)
    self.assertEqual(box.sh('rm -r /workspace/d').code, 0)
    self.assertEqual(self.free(box)[1], free)
