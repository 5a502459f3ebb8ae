"""N17: abstract sockets are of one sandbox."""
import os
import socket


def attempt(self):
    name = f'\0warren-test-{os.getpid()}'
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        self.both(r'''
import socket
s = socket.socket(socket.AF_UNIX)
try:
    s.connect('\0' + sys.argv[1])
    print('connected')
except ConnectionRefusedError:
    pass
if sys.argv[1] in open('/proc/net/unix').read():
    print('seen')
''', name[1:])
