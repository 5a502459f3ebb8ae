"""F21: sparse files end at the file systems size."""


def attempt(self):
    self.both(r'''
for size in (8 << 60, 1 << 62, 100 << 40, 17 << 40):
    try:
        with open('/workspace/sparse', 'wb') as file:
            file.truncate(min(size, (1 << 63) - 1))
        print(size)
    except OSError as e:
        refused(size, errno.errorcode[e.errno], 'EFBIG', 'EINVAL')
with open('/workspace/sparse', 'wb') as file:
    file.truncate(1 << 40)
s = os.statvfs('/workspace')
if s.f_blocks * s.f_frsize > 128 << 20 or s.f_bavail * s.f_frsize < 1 << 20:
    print(s)
os.unlink('/workspace/sparse')
''')
