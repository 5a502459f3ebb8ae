"""N1: nothing but loopback is reached."""
import socket


def attempt(self):
    with socket.socket() as server:
        server.bind(('127.0.0.1', 0))
        server.listen()
        self.both(r'''
import socket
for address in (('1.1.1.1', 53), ('169.254.169.254', 80), ('10.0.0.1', 80),
                ('192.168.0.1', 80), ('172.17.0.1', 80), ('100.64.0.1', 80)):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        s = socket.socket(socket.AF_INET, kind)
        s.settimeout(2)
        try:
            s.connect(address)
            print(address, 'is reached')
        except OSError as e:
            refused(address, errno.errorcode[e.errno], 'ENETUNREACH')
s = socket.socket(socket.AF_INET6)
try:
    s.connect(('2606:4700::1111', 53))
    print('IPv6 is reached')
except OSError as e:
    refused('IPv6', errno.errorcode[e.errno], 'ENETUNREACH', 'EADDRNOTAVAIL')
s = socket.socket()
try:
    s.connect(('127.0.0.1', int(sys.argv[1])))
    print("the machine's own loopback is reached")
except ConnectionRefusedError:
    pass
names = [name for _, name in socket.if_nameindex()]
if names != ['lo']:
    print(names)
a = socket.create_server(('127.0.0.1', 0))
socket.create_connection(a.getsockname()).close()
a = socket.create_server(('127.0.0.1', 80 + os.getuid() % 7))
''', str(server.getsockname()[1]))
