"""Policy internet: the world is reached, and nothing else is (research: N2,
N3, N4, N5, N6, N15)."""
import subprocess
import sys

import net_world
import stack
from net_world import (DNS, GATEWAY, HOST, HOST_LAN, LAN, METADATA, PRIVATE,
                       PUBLIC, PUBLIC2, RESOLVER, TCP_PORTS, inside, opened)

USERS = ('root', 'sandbox')
REFUSED = 'EHOSTUNREACH'


def from_outside(namespace, address, port=8080):
    """What a machine in that namespace gets when it connects."""
    return inside(namespace, sys.executable, '-c', net_world.GUEST +
                  'print(tcp(sys.argv[1], int(sys.argv[2]), 1.0))',
                  address, str(port)).stdout.strip()


class Reach(net_world.Case):
    def test_the_world_answers_over_tcp_and_udp(self):
        for user in USERS:
            with self.subTest(user=user):
                self.assertEqual(self.box.tcp(PUBLIC, user=user), 'ok')
                self.assertEqual(self.box.tcp(PUBLIC2, 443, user=user), 'ok')
                self.assertEqual(self.box.udp(PUBLIC, user=user), 'ok')

    def test_the_world_sees_the_hosts_address(self):
        got = self.box.py('''
s = socket.create_connection((sys.argv[1], 80), 3)
s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
print(s.makefile('rb').read().decode().split()[-1])
''', PUBLIC)
        self.assertEqual(got.stdout.split(':')[0], HOST, got)

    def test_answers_of_an_established_connection_return(self):
        got = self.box.py('''
s = socket.create_connection((sys.argv[1], 80), 3)
total = 0
for i in range(50):
    s.sendall(b'x' * 20000)
    left = 20000
    while left:
        left -= len(s.recv(left))
print('all')
''', PUBLIC)
        self.assertEqual(got.stdout, 'all\n', got)

    def test_curl_gets_a_page(self):
        got = self.box.sh(f'curl -s -o /dev/null -w "%{{http_code}}" '
                          f'http://{PUBLIC}/')
        self.assertEqual(got.stdout, '200', got)

    def test_n02_metadata_in_all_its_forms(self):
        got = self.box.py('''
def form(f, text):
    try:
        s = socket.socket(f)
        s.settimeout(3)
        s.connect((text, 80))
        return 'reached'
    except OSError as e:
        return name(e)
for text in ('169.254.169.254', '2852039166', '0xa9fea9fe', '0xa9.254.43518',
             '0251.0376.0251.0376'):
    info = socket.getaddrinfo(text, 80, type=socket.SOCK_STREAM)
    print(form(info[0][0], info[0][4][0]))
print(form(socket.AF_INET6, '::ffff:169.254.169.254'))
print(form(socket.AF_INET6, 'fd00:ec2::254'))
''')
        self.assertEqual(got.stdout.split(),
                         [REFUSED] * 6 + ['ENETUNREACH'], got)
        self.assertGreaterEqual(self.box.denials()['private_address'], 6)

    def test_n03_private_and_special_ranges(self):
        with opened(self.net) as box:
            for address in PRIVATE + (METADATA, LAN):
                for user in USERS:
                    with self.subTest(address=address, user=user):
                        self.assertEqual(box.tcp(address, user=user), REFUSED)
                        self.assertEqual(box.udp(address, user=user), REFUSED)
            for address in ('127.0.0.2', '0.0.0.0'):
                self.assertEqual(box.tcp(address), 'ECONNREFUSED')
            for address in ('240.0.0.1', '255.255.255.254', '224.0.0.251',
                            '239.1.1.1', '0.1.2.3'):
                self.assertNotIn(box.udp(address), ('ok',))
            self.assertGreaterEqual(box.denials()['private_address'],
                                    2 * 2 * len(PRIVATE))

    def test_n04_every_address_of_the_host_on_every_port(self):
        link = inside(self.world.host, 'ip', '-4', '-o', 'addr', 'show',
                      self.net.link()).stdout.split()[3].split('/')[0]
        with opened(self.net) as box:
            for address in (HOST, HOST_LAN, link):
                for port in TCP_PORTS:
                    with self.subTest(address=address, port=port):
                        self.assertEqual(box.tcp(address, port), REFUSED)
                self.assertEqual(box.udp(address), REFUSED)
                self.assertEqual(box.udp(address, 53), REFUSED)
            self.assertGreaterEqual(box.denials()['host'],
                                    3 * len(TCP_PORTS))

    def test_n04_the_gateway_has_a_resolver_and_nothing_else(self):
        for address in (self.box.gateway(), RESOLVER):
            for port in (22, 80, 5353, 8080):
                self.assertEqual(self.box.tcp(address, port), REFUSED)
        self.assertEqual(self.box.tcp(self.box.gateway(), 53), REFUSED)
        self.assertGreaterEqual(self.box.denials()['gateway'], 8)

    def test_n05_n06_another_sandbox_in_both_directions(self):
        server = '''
import threading
t = socket.socket(); t.bind(('0.0.0.0', 8080)); t.listen()
u = socket.socket(type=socket.SOCK_DGRAM); u.bind(('0.0.0.0', 9999))
def echo():
    while True:
        data, who = u.recvfrom(100)
        u.sendto(data, who)
threading.Thread(target=echo, daemon=True).start()
print('ready', flush=True)
while True:
    c, _ = t.accept(); c.sendall(b'hello'); c.close()
'''
        with opened(self.net) as a, opened(self.net) as b:
            wires = [box.start(['python3', '-c', net_world.GUEST + server])
                     for box in (a, b)]
            for wire in wires:
                while True:
                    kind, _, payload = wire.recv()
                    if kind == stack.EVENT and b'ready' in payload:
                        break
            for one, other in ((a, b), (b, a)):
                self.assertEqual(one.tcp('127.0.0.1', 8080), 'ok')
                for user in USERS:
                    self.assertEqual(one.tcp(other.addr(), 8080, user=user),
                                     REFUSED)
                    self.assertEqual(one.udp(other.addr(), user=user),
                                     REFUSED)
                self.assertGreaterEqual(one.denials()['other_sandbox'], 4)
                # Its own address is its own.
                self.assertEqual(one.tcp(one.addr(), 8080), 'ok')
            # N6: the LAN, the world and the host find no way in.
            egress = self.net.egress('ip', '-4', '-o', 'addr', 'show', 'up0'
                                     ).stdout.split()[3].split('/')[0]
            pool = '10.218.0.0/19'
            for ns, via in ((self.world.lan, HOST_LAN),
                            (self.world.world, HOST),
                            (self.world.host, egress)):
                inside(ns, 'ip', 'route', 'replace', pool, 'via', via)
                if ns != self.world.host:
                    inside(ns, 'ip', 'route', 'replace', egress + '/32',
                           'via', via)
            try:
                for ns in (self.world.lan, self.world.world,
                           self.world.host):
                    with self.subTest(ns=ns):
                        self.assertEqual(from_outside(ns, a.addr()),
                                         'timeout')
                        self.assertIn(from_outside(ns, egress, 53),
                                      ('timeout', 'EHOSTUNREACH'))
            finally:
                for ns in (self.world.lan, self.world.world,
                           self.world.host):
                    inside(ns, 'ip', 'route', 'del', pool)
            for wire in wires:
                wire.sock.close()

    def test_n15_mail_ports(self):
        with opened(self.net) as box:
            for port in (25, 465, 587):
                for user in USERS:
                    self.assertEqual(box.tcp(PUBLIC, port, user=user),
                                     REFUSED)
            self.assertEqual(box.denials(), {'smtp': 6})
            self.assertEqual(box.tcp(PUBLIC, 443), 'ok')

    def test_the_host_does_not_become_a_router_for_others(self):
        inside(self.world.lan, 'ip', 'route', 'replace', 'default', 'via',
               HOST_LAN)
        self.assertNotEqual(from_outside(self.world.lan, PUBLIC, 80), 'ok')
        inside(self.world.world, 'ip', 'route', 'replace', LAN + '/32',
               'via', HOST)
        self.assertNotEqual(from_outside(self.world.world, LAN, 80), 'ok')
        inside(self.world.world, 'ip', 'route', 'del', LAN + '/32')

    def test_ping_of_private_addresses_and_odd_protocols(self):
        """ICMP and unlisted protocols, sent by the machine's own root from
        the sandbox's namespace: what the walls inside do not allow."""
        _, init = self.box.pids()

        def send(program):
            return subprocess.run(
                ['nsenter', f'--net=/proc/{init}/ns/net', sys.executable,
                 '-c', net_world.GUEST + program], check=True,
                capture_output=True, text=True).stdout.strip()

        ping = '''
def checksum(d):
    t = sum(struct.unpack('>%dH' % (len(d) // 2), d))
    t = (t >> 16) + (t & 0xffff)
    return ~(t + (t >> 16)) & 0xffff
def ping(address, kind=8):
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    s.settimeout(1)
    p = struct.pack('>BBHHH', kind, 0, 0, 77, 1) + b'warren42'
    p = p[:2] + struct.pack('>H', checksum(p)) + p[4:]
    s.sendto(p, (address, 0))
    try:
        while True:
            got = s.recv(200)[20:]
            if got[0] == 0 and got[8:] == b'warren42':
                return 'ok'
            if got[0] == 3:
                return 'refused'
    except OSError as e:
        return name(e)
def odd(address, protocol):
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, protocol)
    s.sendto(b'x' * 40, (address, 0))
'''
        self.assertEqual(send(ping + f'print(ping("{PUBLIC}"))'), 'ok')
        for address in ('10.1.2.3', METADATA, HOST, self.box.gateway()):
            self.assertEqual(send(ping + f'print(ping("{address}"))'),
                             'refused')
        before = self.box.denials().get('protocol', 0)
        send(ping + f'for p in (47, 50, 132, 4): odd("{PUBLIC}", p)\n'
             f'ping("{PUBLIC}", 5)\nping("{PUBLIC}", 13)')
        # SCTP and the redirect are not even well-formed connections.
        self.assertEqual(self.box.denials()['protocol'], before + 4)

    def test_the_hosts_own_resolver_is_only_the_gateways_to_ask(self):
        self.assertEqual(self.box.udp(DNS, 53), REFUSED)
        self.assertEqual(self.box.tcp(GATEWAY, 53), REFUSED)
        self.assertIn('other_resolver', self.box.denials())


if __name__ == '__main__':
    stack.main()
