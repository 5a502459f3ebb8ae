"""N9: no foreign source address is taken."""


def attempt(self):
    self.both(r'''
import socket
s = socket.socket()
for level, option in ((0, 19), (41, 75)):
    try:
        s.setsockopt(level, option, 1)
        print('transparent')
    except OSError as e:
        refused(option, errno.errorcode[e.errno], 'EPERM', 'ENOPROTOOPT')
for option in (12, 36, 32, 33):
    try:
        s.setsockopt(socket.SOL_SOCKET, option, 1 << 28)
        if option in (32, 33, 36):
            print('option', option)
    except OSError:
        pass
''')
