"""N7: no raw socket is given."""


def attempt(self):
    self.both(r'''
import socket
for family in (2, 10):
    for protocol in (0, 1, 6, 17, 58, 255):
        try:
            socket.socket(family, socket.SOCK_RAW, protocol)
            print('raw', family, protocol)
        except OSError as e:
            refused((family, protocol), errno.errorcode[e.errno],
                    'EPERM', 'EPROTONOSUPPORT')
for family in (17, 44):
    for kind in (2, 3):
        refused(family, call(41, family, kind, 0), 'EAFNOSUPPORT')
''')
