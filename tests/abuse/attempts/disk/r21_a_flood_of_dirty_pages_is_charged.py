"""R21: writing more than its memory without ever syncing stays within the
sandbox's memory and disk; nobody else waits for the pages to be written."""
from test_disk_life import MIB, disk, usage


def attempt(self):
    box = self.stack.sandbox(memory=128 * MIB, rest=disk(600 * MIB, 1000))
    done = box.sh('head -c 500M /dev/zero >/workspace/x', wait=60)
    self.assertIn(done.reason, ('exited', 'out_of_memory'), done)
    self.assertLessEqual(usage(box)['memory_used'], 128 * MIB)
    self.assertEqual(box.sh('echo fine').stdout, 'fine\n')
    self.assertEqual(box.destroy(), 'none')
