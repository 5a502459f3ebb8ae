"""Network: attempts that must fail (research: N1, N7, N9, N11, N12, N17,
N18; without egress)."""
import os
import socket
import stack


class Network(stack.Case):
    def test_n01_nothing_but_loopback_is_reached(self):
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

    def test_n07_no_raw_socket_is_given(self):
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

    def test_n09_no_foreign_source_address_is_taken(self):
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

    def test_n11_families_and_protocols_not_needed_are_not_there(self):
        self.both(r'''
for family in [0] + list(range(3, 10)) + list(range(11, 16)) + \
        list(range(17, 64)) + [255, 1 << 31]:
    for kind in (1, 2, 3, 5):
        refused(('socket', family, kind), call(41, family, kind, 0),
                'EAFNOSUPPORT')
for family in [0] + list(range(2, 64)):
    refused(('pair', family), call(53, family, 1, 0, page), 'EAFNOSUPPORT')
for family in (2, 10):
    for protocol in (33, 132, 136, 262, 2, 4, 41, 47, 50, 108, 255):
        for kind in (1, 2, 3, 5, 6):
            refused(('protocol', family, kind, protocol),
                    call(41, family, kind, protocol), 'EPROTONOSUPPORT')
''')

    def test_n12_netlink_changes_nothing(self):
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

    def test_n17_abstract_sockets_are_of_one_sandbox(self):
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

    def test_n18_sockets_of_the_service_are_not_there(self):
        self.both(r'''
import socket
for path in sys.argv[1:]:
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET,
                 socket.SOCK_DGRAM):
        s = socket.socket(socket.AF_UNIX, kind)
        try:
            s.connect(path)
            print(path)
        except OSError as e:
            refused(path, errno.errorcode[e.errno], 'ENOENT')
''', self.stack.run + '/broker.sock', self.stack.run + '/fcgi.sock',
                  f'{self.stack.run}/keepers/{self.box.id}.sock',
                  '/run/systemd/notify', '/run/dbus/system_bus_socket',
                  '/run/docker.sock')


if __name__ == '__main__':
    stack.main()
