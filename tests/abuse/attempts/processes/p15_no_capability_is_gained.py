"""P15: no capability is gained."""


def attempt(self):
    allowed = sum(1 << c for c in (0, 1, 3, 4, 5, 6, 7, 31))
    script = r'''
import struct
libc.prctl(4, 1, 0, 0, 0)
for number in range(64):
    libc.prctl(47, 2, number, 0, 0)
    libc.prctl(23, number, 0, 0, 0)
libc.prctl(8, 1, 0, 0, 0)
libc.prctl(28, 0, 0, 0, 0)
head = struct.pack('<Ii', 0x20080522, 0)
call(126, head, struct.pack('<6I', *[0xffffffff] * 6))
refused('mm', call(157, 35, 1, 0, 0, 0), 'EPERM', 'EINVAL')
libc.prctl(38, 0, 0, 0, 0)
os.execv('/bin/cat', ['cat', '/proc/self/status'])
'''
    for user, most in (('root', allowed), ('sandbox', 0)):
        done = self.guest(script, user=user)
        status = dict(line.split(':', 1)
                      for line in done.stdout.splitlines())
        for name in ('CapPrm', 'CapEff', 'CapBnd', 'CapInh', 'CapAmb'):
            have = int(status[name], 16)
            self.assertEqual(have & ~most, 0, (user, name, hex(have)))
        self.assertEqual(status['NoNewPrivs'].strip(), '1')
        self.assertEqual(status['Seccomp'].strip(), '2')
        self.assertEqual(status['Groups'].strip(), '')
