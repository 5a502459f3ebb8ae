"""R12: a flood of output stays in its ring."""
import time

import stack


def attempt(self):
    keeper, _ = self.box.pids()
    for command in ('yes', 'yes >&2',
                    'exec python3 -uc "import os\nwhile 1: '
                    'os.write(1, b\'x\')"'):
        wire = self.box.start(['/bin/bash', '-c', command], flags=0,
                              timeout_ms=1500, grace_ms=100)
        wire.recv()
        for _ in range(10):
            time.sleep(0.1)
            self.assertEqual(self.box.ask(stack.KM_PING)[0], stack.OK)
        self.assertLess(stack.memory_of(keeper), 64 * stack.MIB)
        stack.until(8, 'it ends', lambda: self.box.ask(
            stack.KM_STATUS, stack.text(wire.id))[2][
                4 + len(wire.id) + 1 + 1] == 3)
        wire.sock.close()
