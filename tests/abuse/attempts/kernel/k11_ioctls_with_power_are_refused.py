"""K11: ioctls with power are refused."""


def attempt(self):
    self.refuses(
        ('TIOCSTI', 16, '0, 0x5412, b"x"'),
        ('TIOCSTI high', 16, '0, 0x5412 | 1 << 32, b"x"'),
        ('TIOCSTI sign', 16, '0, 0x5412 | 0xffffffff << 32, b"x"'),
        ('TIOCLINUX', 16, '0, 0x541c, b"\\2"'),
        ('TIOCLINUX high', 16, '0, 0x541c | 1 << 40, b"\\2"'))
    self.both(r'''
import fcntl, struct
path = '/workspace/flags%d' % os.getuid()
fd = os.open(path, os.O_CREAT | os.O_RDONLY)
for number, arg in ((0x40086602, struct.pack('l', 0x10)),
                    (0x40086602, struct.pack('l', 0x20)),
                    (0xc0045877, struct.pack('i', 0)),
                    (0xc0045878, struct.pack('i', 0)),
                    (0x12 << 8 | 119, struct.pack('i', 0))):
    try:
        fcntl.ioctl(fd, number, arg)
        print('ioctl', hex(number))
    except OSError as e:
        refused(hex(number), errno.errorcode[e.errno], 'EPERM', 'ENOTTY',
                'EOPNOTSUPP', 'ENOTSUP', 'EINVAL', 'ENOTBLK')
''')
