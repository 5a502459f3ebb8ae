"""R7: a file larger than the limit of one file ends who writes it by SIGXFSZ,
and that is told."""
import struct

from test_disk_life import BYTES, INODES, MIB


def attempt(self):
    box = self.stack.sandbox(rest=struct.pack(
        '<QIIHHIIIQQ', BYTES, INODES, 0, 0, 0, 0, 0, 0, 8 * MIB, 0))
    for user in ('root', 'sandbox'):
        done = self.guest('fd = os.open("/workspace/%d" % os.getuid(), '
                          'os.O_CREAT | os.O_WRONLY)\n'
                          'import signal\n'
                          'signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n'
                          'for i in range(20): os.write(fd, bytes(1 << 20))',
                          sandbox=box, user=user)
        self.assertEqual((done.reason, done.signal), ('signalled', 25), done)
        done = self.guest('import resource\n'
                          'try:\n'
                          '    resource.setrlimit(resource.RLIMIT_FSIZE, '
                          '(1 << 40, 1 << 40))\n'
                          '    print("raised")\n'
                          'except (ValueError, PermissionError):\n'
                          '    pass', sandbox=box, user=user)
        self.assertEqual((done.code, done.stdout), (0, ''), done)
    self.assertEqual(box.sh('stat -c %s /workspace/0').stdout,
                     f'{8 * MIB}\n')
    self.assertEqual(box.destroy(), 'none')
