"""F21: absurd sizes are refused."""


def attempt(self):
    self.both(r'''
fd = os.open('/tmp/big%d' % os.getuid(), os.O_CREAT | os.O_RDWR)
for size in (1 << 63, (1 << 63) - 1, 1 << 60):
    try:
        os.ftruncate(fd, size)
    except (OSError, OverflowError):
        continue
    if os.fstat(fd).st_blocks != 0:
        print('truncate to', size, 'took room')
os.ftruncate(fd, 0)
fd = os.open('/workspace/big%d' % os.getuid(), os.O_CREAT | os.O_RDWR)
try:
    os.ftruncate(fd, (1 << 63) - 1)
    print('truncate on disk')
except OSError as e:
    refused('disk', errno.errorcode[e.errno], 'EFBIG', 'EINVAL', 'ENOSPC')
s = os.statvfs('/tmp')
if not 0 < s.f_bavail <= s.f_blocks < 1 << 40:
    print('statvfs', s)
''')
