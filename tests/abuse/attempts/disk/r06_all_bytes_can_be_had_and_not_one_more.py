"""R6: all bytes can be had and not one more."""
import os

from test_disk_life import BYTES, MIB, image


def attempt(self):
    box, other = self.another(), self.another()
    free, _ = self.free(self.stack.sandbox(**self.limits))
    self.assertEqual(free, BYTES)
    host = os.statvfs(self.stack.data)
    done = box.sh('head -c 200M /dev/zero >/workspace/big')
    self.assertEqual((done.code, done.reason), (1, 'disk_limit'), done)
    self.assertIn('No space left', done.stderr)
    size = int(box.sh('stat -c %s /workspace/big').stdout)
    # An extent block or two of its own.
    self.assertGreater(size, BYTES - 64 * 1024)
    self.assertLessEqual(size, BYTES)
    self.assertEqual(self.free(box)[0], 0)
    # Not on any other's account, and never more of the host than that.
    done = other.sh('head -c 10M /dev/zero >/workspace/x && sync -d '
                    '/workspace/x')
    self.assertEqual(done.code, 0, done)
    self.assertLess(os.stat(image(box)).st_size, BYTES + 4 * MIB)
    now = os.statvfs(self.stack.data)
    self.assertLess((host.f_bfree - now.f_bfree) * host.f_frsize,
                    2 * BYTES + 64 * MIB)
    # It is usable again as soon as something is deleted.
    done = box.sh('rm /workspace/big && echo x >/workspace/y')
    self.assertEqual((done.code, done.reason), (0, 'exited'), done)
