"""P6: one that keeps the pipe does not keep the call."""
import time


def attempt(self):
    begun = time.monotonic()
    done = self.box.sh('sleep 30 & echo main')
    self.assertEqual((done.stdout, done.reason), ('main\n', 'exited'))
    self.assertLess(time.monotonic() - begun, 5)
    self.box.sh('pkill -9 sleep')
