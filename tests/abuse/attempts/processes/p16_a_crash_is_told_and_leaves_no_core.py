"""P16: a crash is told and leaves no core."""


def attempt(self):
    for user in ('root', 'sandbox'):
        done = self.box.sh('ulimit -c unlimited 2>/dev/null; '
                           'kill -SEGV $$', user=user, cwd='/workspace')
        self.assertEqual((done.reason, done.signal, done.code),
                         ('signalled', 11, 139), done)
    self.assertEqual(self.box.sh('ls -A /workspace').stdout, '')
