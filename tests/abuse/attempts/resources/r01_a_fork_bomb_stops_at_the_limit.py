"""R1: a fork bomb stops at the limit."""
import time


def attempt(self):
    for user in ('root', 'sandbox'):
        begun = time.monotonic()
        done = self.box.sh('f() { f | f & }; f; sleep 50', user=user,
                           timeout_ms=700, grace_ms=200)
        self.assertEqual(done.reason, 'timed_out')
        self.assertLess(time.monotonic() - begun, 8)
