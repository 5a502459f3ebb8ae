"""R23: of a thousand sandboxes that were made, used and destroyed nothing is
left: no namespace, mount, cgroup, loop device, descriptor, process, note,
socket or directory; and they were made as fast as one tenant may while
another one's command runs."""
import outside
from test_disk_life import disk

TRIES = 1  # it takes long
THREADS = 4
LIVES = 1008


def attempt(self):
    def use(n):
        # Every fourth has a disk, and a loop device, of its own.
        how = {'rest': disk(16 << 20, 500)} if n % 16 >= 12 else {}
        box = self.stack.sandbox(**how)
        done = box.sh('echo x > /workspace/f; echo ok; sleep 50 &')
        if done.stdout != 'ok\n' or box.destroy() != 'none':
            raise AssertionError(done)

    # With the first disk come the spare ones.
    use(12)
    before, slabs = self.settled(), outside.slabs()
    self.lives(LIVES, THREADS, use)
    self.assertEqual(self.settled(before), before)
    for name, count in outside.slabs().items():
        self.assertLess(count, slabs[name] + LIVES // 2, name)
