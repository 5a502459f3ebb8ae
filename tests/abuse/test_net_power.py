"""Policy internet gives a way, not power over it (research: N7-N10, N12)."""
import json
import subprocess
import sys

import net_world
import stack
from net_world import PUBLIC, opened

USERS = ('root', 'sandbox')


class Power(net_world.Case):
    def guest(self, program, box=None):
        for user in USERS:
            with self.subTest(user=user):
                done = (box or self.box).py(stack.GUARD + program, user=user)
                self.assertEqual((done.code, done.stdout), (0, ''), done)

    def root_in(self, box, program):
        """The machine's own root in the sandbox's network namespace."""
        _, init = box.pids()
        return subprocess.run(
            ['nsenter', f'--net=/proc/{init}/ns/net', sys.executable, '-c',
             net_world.GUEST + program], check=True, capture_output=True,
            text=True).stdout.strip()

    def test_n07_raw_and_packet_sockets(self):
        self.guest('''
for family, kind, protocol in (
        (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
        (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW),
        (socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6),
        (socket.AF_PACKET, socket.SOCK_RAW, 0x0300),
        (socket.AF_PACKET, socket.SOCK_DGRAM, 0x0300),
        (44, socket.SOCK_RAW, 0)):
    try:
        socket.socket(family, kind, protocol)
        print(family, kind, protocol, 'made')
    except OSError as e:
        refused((family, kind), name(e), 'EPERM', 'EAFNOSUPPORT', 'EACCES',
                'ESOCKTNOSUPPORT', 'EPROTONOSUPPORT')
''')

    def test_n08_n12_addresses_links_routes_and_rules(self):
        """Each request of rtnetlink that changes something, raw."""
        self.guest(r'''
NEWLINK, DELLINK, SETLINK = 16, 17, 19
NEWADDR, DELADDR, NEWROUTE, DELROUTE, NEWNEIGH, NEWRULE = \
    20, 21, 24, 25, 28, 32
NEWQDISC = 36
index = socket.if_nametoindex('eth0')
def attribute(kind, data):
    raw = struct.pack('<HH', 4 + len(data), kind) + data
    return raw + bytes(-len(raw) % 4)
link = struct.pack('<BxHiII', 0, 0, index, 0, 0xffffffff)
addr = struct.pack('<BBBBI', 2, 31, 0, 0, index)
route = struct.pack('<BBBBBBBBI', 2, 0, 0, 0, 254, 4, 0, 1, 0)
neigh = struct.pack('<BxxxiHBB', 2, index, 0x80, 0, 0)
rule = struct.pack('<BBBBBBBBI', 2, 0, 0, 0, 254, 0, 0, 1, 0)
qdisc = struct.pack('<BxxxiIII', 0, index, 1 << 16, 0xffffffff, 0)
ten = socket.inet_aton('10.218.0.77')
asks = (('link down', SETLINK, 0, link),
        ('link delete', DELLINK, 0, link),
        ('link address', SETLINK, 0, link + attribute(1, b'\2\2\2\2\2\2')),
        ('link into another ns', SETLINK, 0,
         link + attribute(19, struct.pack('<I', 1))),
        ('new link', NEWLINK, 0x600,
         struct.pack('<BxHiII', 0, 0, 0, 0, 0) + attribute(3, b'mine\0') +
         attribute(18, attribute(1, b'dummy'))),
        ('new address', NEWADDR, 0x600, addr + attribute(2, ten)),
        ('no address', DELADDR, 0, addr),
        ('new route', NEWROUTE, 0x600,
         route + attribute(4, struct.pack('<I', index))),
        ('no route', DELROUTE, 0, route),
        ('new neighbour', NEWNEIGH, 0x600,
         neigh + attribute(1, ten) + attribute(2, b'\2\2\2\2\2\2')),
        ('new rule', NEWRULE, 0x600, rule),
        ('new qdisc', NEWQDISC, 0x600, qdisc + attribute(1, b'pfifo\0')))
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
s.settimeout(3)
for what, kind, flags, payload in asks:
    s.send(struct.pack('<IHHII', 16 + len(payload), kind, 5 | flags, 1, 0) +
           payload)
    got = s.recv(8192)
    code = struct.unpack('<i', got[16:20])[0]
    refused(what, errno.errorcode.get(-code, code), 'EPERM', 'EOPNOTSUPP')
for bus in (4, 6, 12, 15, 16):
    try:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, bus)
        print('netlink', bus, 'made')
    except OSError as e:
        refused(bus, name(e), 'EPERM', 'EPROTONOSUPPORT', 'EACCES',
                'EAFNOSUPPORT')
for path in ('/proc/sys/net/ipv4/ip_forward',
             '/proc/sys/net/ipv4/conf/eth0/rp_filter',
             '/proc/sys/net/ipv6/conf/eth0/disable_ipv6'):
    got = opens(path, os.O_WRONLY)
    refused(path, got, 'EROFS', 'EACCES', 'EPERM', 'ENOENT')
''')
        self.assertEqual(self.box.tcp(PUBLIC), 'ok')

    def test_n08_an_address_forced_from_outside_gets_nowhere(self):
        with opened(self.net) as a, opened(self.net) as b:
            for address in (b.addr(), '203.0.113.99', '10.9.9.9'):
                _, init = a.pids()
                ns = f'--net=/proc/{init}/ns/net'
                subprocess.run(['nsenter', ns, 'ip', 'addr', 'add',
                                address + '/32', 'dev', 'eth0'], check=True)
                got = self.root_in(a, f'''
s = socket.socket(type=socket.SOCK_DGRAM)
s.settimeout(1)
s.bind(("{address}", 0))
s.sendto(b'x', ("{PUBLIC}", 9999))
try:
    print(s.recv(100))
except OSError as e:
    print(name(e))
''')
                self.assertEqual(got, 'timeout')
            self.assertEqual(a.denials(), {'spoofed_source': 3})
            self.assertEqual(b.denials(), {})
            self.assertEqual(a.tcp(PUBLIC), 'ok')

    def test_n09_foreign_sources_by_socket_options(self):
        with opened(self.net) as box:
            other = self.box.addr()
            for user in USERS:
                done = box.py('''
for option in (15, 19):
    for source in sys.argv[2:]:
        s = socket.socket(type=socket.SOCK_DGRAM)
        s.settimeout(1)
        try:
            s.setsockopt(socket.IPPROTO_IP, option, 1)
            s.bind((source, 0))
            s.sendto(b'x', (sys.argv[1], 9999))
            print(s.recv(100))
        except OSError as e:
            print(name(e))
''', PUBLIC, other, '203.0.113.99', user=user)
                # Bound, but the kernel has no way for such a source.
                self.assertEqual(done.stdout.split(),
                                 ['ENETUNREACH'] * 2 + ['EPERM'] * 2, done)

    def test_n10_no_packet_of_ipv6_leaves(self):
        with opened(self.net) as box:
            self.assertEqual(
                box.sh('ip -6 addr show dev eth0; ip -6 route show dev eth0'
                       ).stdout, '')
            for address in ('2001:db8::1', 'fe80::1%eth0', 'ff02::1%eth0',
                            'fd00:ec2::254', '64:ff9b::a9fe:a9fe'):
                got = box.tcp(address)
                self.assertIn(got, ('ENETUNREACH', 'EADDRNOTAVAIL',
                                    'EINVAL', 'ENODEV', 'EHOSTUNREACH'))
            # Where the machine's own root turns it on, nothing passes.
            _, init = box.pids()
            subprocess.run(
                ['nsenter', f'--net=/proc/{init}/ns/net', 'sh', '-ec', '''
echo 0 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6
ip -6 addr add 2001:db8::5/64 dev eth0 nodad
ip -6 neigh add fe80::1 lladdr 02:77:00:00:00:00 dev eth0
ip -6 route add default via fe80::1 dev eth0'''], check=True)
            before = self.sent()
            self.root_in(box, '''
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
for address in ('ff02::1%eth0', '2001:4860::8888', 'fd00:ec2::254'):
    for _ in range(10):
        s.sendto(b'x', socket.getaddrinfo(address, 9999)[0][4])
''')
            self.assertEqual(self.sent(), before)
            self.assertEqual(self.net.egress('ip', '-6', 'addr').stdout, '')

    def sent(self):
        """Packets that left the egress namespace by the uplink."""
        return json.loads(self.net.egress(
            'ip', '-s', '-j', 'link', 'show', 'up0').stdout
        )[0]['stats64']['tx']['packets']

    def test_the_namespace_belongs_to_no_one_inside(self):
        """No capability counts there: its owner is the first namespace."""
        _, init = self.box.pids()
        owner = subprocess.run(
            [sys.executable, '-c', '''
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
print(os.fstat(fcntl.ioctl(fd, 0xb701)).st_ino)
print(os.stat('/proc/self/ns/user').st_ino)
''', f'/proc/{init}/ns/net'], check=True, capture_output=True,
            text=True).stdout.split()
        self.assertEqual(owner[0], owner[1])


if __name__ == '__main__':
    stack.main()
