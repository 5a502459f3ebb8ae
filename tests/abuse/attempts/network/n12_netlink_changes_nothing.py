"""N12: netlink changes nothing."""


def attempt(self):
    self.both(r'''
import socket, struct
for protocol in list(range(1, 23)):
    refused(('netlink', protocol), call(41, 16, 3, protocol),
            'EPROTONOSUPPORT')
def ask(kind, body):
    s = socket.socket(16, socket.SOCK_RAW, 0)
    s.settimeout(3)
    s.send(struct.pack('<IHHII', 16 + len(body), kind, 0x605, 1, 0) + body)
    answer = s.recv(65536)
    s.close()
    kind = struct.unpack('<H', answer[4:6])[0]
    code = struct.unpack('<i', answer[16:20])[0]
    return errno.errorcode.get(-code, str(code)) if kind == 2 else 'data'
name = struct.pack('<HH', 6, 3) + b'd0' + b'\0\0'
kind = struct.pack('<HH', 16, 18 | 0x8000) + struct.pack('<HH', 9, 1) + \
    b'dummy\0\0\0'
refused('new link', ask(16, bytes(16) + name + kind), 'EPERM')
refused('set link', ask(19, struct.pack('<BBHiII', 0, 0, 0, 1, 0, 1)))
refused('new address', ask(20, struct.pack('<BBBBi', 2, 24, 0, 0, 1) +
                           struct.pack('<HH4B', 8, 2, 10, 0, 0, 1)))
refused('new route', ask(24, struct.pack('<8BI', 2, 0, 0, 0, 254, 3, 0, 1,
                                         0)))
refused('new qdisc', ask(36, struct.pack('<BBHiIII', 0, 0, 0, 1, 0, 0, 0)))
import fcntl
s = socket.socket()
for number in (0x8914, 0x8916, 0x8924, 0x890b, 0x8946):
    try:
        fcntl.ioctl(s, number, b'lo'.ljust(40, b'\0'))
        print('ioctl', hex(number))
    except OSError as e:
        refused(hex(number), errno.errorcode[e.errno], 'EPERM', 'EOPNOTSUPP',
                'EINVAL', 'EFAULT')
''')
