"""Policy internet: the world is reached. What is not: attempts/internet/."""
import subprocess
import sys

import net_world
import stack
from net_world import (DNS, GATEWAY, HOST, HOST_LAN, LAN, METADATA, PUBLIC,
                       PUBLIC2, REFUSED, USERS, from_outside, inside)


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
