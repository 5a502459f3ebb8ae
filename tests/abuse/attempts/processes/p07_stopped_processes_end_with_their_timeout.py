"""P7: stopped processes end with their timeout."""


def attempt(self):
    done = self.box.sh('sleep 50 & kill -STOP $!; kill -STOP $$',
                       timeout_ms=300, grace_ms=200)
    self.assertEqual(done.reason, 'timed_out')
