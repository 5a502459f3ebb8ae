"""P6: one that keeps the pipe does not keep the call."""


def attempt(self):
    done = self.box.sh('sleep 600 & echo main')
    self.assertEqual((done.stdout, done.reason), ('main\n', 'exited'))
    self.box.sh('pkill -9 sleep')
