"""P1: init is not killed."""
import stack


def attempt(self):
    _, init = self.box.pids()
    for user in ('root', 'sandbox'):
        self.box.run(['python3', '-c', stack.GUARD + r'''
import signal
if os.getuid() == 0:
    try:
        os.setresuid(65533, 65533, 65533)
    except OSError:
        pass
for sig in list(range(1, 65)) * 3:
    try:
        os.kill(1, sig)
    except OSError:
        pass
'''], user=user)
        self.box.sh('kill -9 1; kill -STOP 1; kill -TERM 1', user=user)
        self.box.sh('kill -STOP -1; kill -9 -1', user=user)
        self.assertTrue(stack.alive(init))
        self.assertEqual(self.box.sh('echo on').stdout, 'on\n')
