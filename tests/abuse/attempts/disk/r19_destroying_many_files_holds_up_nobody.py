"""R19: destroying many files holds up nobody."""
import os
import time

import stack
from test_disk_life import MIB, disk


def attempt(self):
    box = self.another(memory=512 * MIB, rest=disk(1024 * MIB, 200000))
    done = box.sh('cd /workspace; seq 60000 | xargs -n 500 sh -c '
                  '\'mkdir $1; cd $1; touch "$@"\' -', wait=90)
    self.assertEqual(done.code, 0, done)
    begin = time.monotonic()
    self.assertEqual(box.destroy(), 'none')
    self.assertLess(time.monotonic() - begin, 2)
    begin = time.monotonic()
    self.assertEqual(self.stack.broker(stack.PING), 'none')
    self.assertLess(time.monotonic() - begin, 0.2)
    stack.until(10, 'the files are gone', lambda: not [
        name for name in os.listdir(f'{self.stack.data}/sandboxes')
        if box.id in name])
