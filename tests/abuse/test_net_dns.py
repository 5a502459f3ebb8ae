"""Names: the one resolver. What it gives out to nobody: attempts/internet/."""
import os
import signal
import time

import neighbour
import net_world
import stack
from net_world import METADATA, NAMED, PUBLIC, RESOLVER, opened, until


class Names(net_world.Case):
    def test_a_public_name_is_resolved(self):
        for user in ('root', 'sandbox'):
            got = self.box.sh('getent ahostsv4 ok.example', user=user)
            self.assertIn(NAMED, got.stdout, got)
        self.assertEqual(self.ask('ok.example', 'tcp_=True'), NAMED)
        self.assertEqual(self.ask('ok.example', 'kind=16'), '1 answers')

    def test_programs_connect_by_name(self):
        got = self.box.sh('curl -s -o /dev/null -w "%{http_code}" '
                          'http://ok.example/')
        self.assertEqual(got.stdout, '200', got)

    def test_addresses_of_ipv6_are_left_out(self):
        self.assertEqual(self.ask('ok.example', 'kind=28'), 'code 0')

    def test_the_resolver_does_not_name_itself(self):
        q = self.box.py(net_world.ASK + '''
q = struct.pack('>HHHHHH', 7, 0x100, 1, 0, 0, 0) + \
    b'\\7version\\4bind\\0' + struct.pack('>HH', 16, 3)
s = socket.socket(type=socket.SOCK_DGRAM)
s.settimeout(3)
s.connect(('169.254.53.53', 53))
s.send(q)
print(b'dnsmasq' in s.recv(4096))
''')
        self.assertEqual(q.stdout, 'False\n', q)

    def test_the_resolver_has_no_power(self):
        status = open(f'/proc/{self.resolver()}/status',
                      encoding='ascii').read()
        for line in ('CapPrm:\t0000000000000000', 'NoNewPrivs:\t1',
                     'CapEff:\t0000000000000000'):
            self.assertIn(line, status)
        self.assertNotIn('Uid:\t0', status)
        root = f'/proc/{self.resolver()}/root'
        self.assertLessEqual(set(os.listdir(root)), {
            'usr', 'dev', 'lib', 'lib32', 'lib64', 'libx32'})
        self.assertEqual(set(os.listdir(root + '/dev')),
                         {'null', 'urandom'})
        with self.assertRaises(OSError):
            open(root + '/usr/x', 'wb').close()

    def resolver(self):
        with open(self.net.run + '/net/resolver', encoding='ascii') as file:
            return int(file.read().split()[0])

    def test_the_resolver_comes_back_when_it_dies(self):
        old = self.resolver()
        os.kill(old, signal.SIGKILL)
        until(5, 'a new resolver', lambda: self.resolver() != old)
        until(5, 'answers', lambda: self.ask('ok.example') == NAMED)

    def test_with_policy_none_lookups_fail_at_once(self):
        with opened(self.net, network=0) as box:
            began = time.monotonic()
            got = box.sh('getent hosts ok.example; '
                         'curl -s http://ok.example/; echo $?')
            self.assertLess(time.monotonic() - began, 1)
            self.assertEqual(got.stdout, '6\n', got)
            self.assertEqual(self.ask('ok.example', box=box), 'ENETUNREACH')
            self.assertEqual(box.denials(), {})

    def test_a_flood_of_questions_is_bounded_to_the_one_who_floods(self):
        def flood():
            wire = loud.start(['python3', '-c', net_world.GUEST + '''
end = time.time() + 3
s = socket.socket(type=socket.SOCK_DGRAM)
s.connect(('169.254.53.53', 53))
s.setblocking(False)
i = 0
while time.time() < end:
    i += 1
    q = struct.pack('>HHHHHH', 7, 0x100, 1, 0, 0, 0) + \
        b'\\x08%08d\\4none\\0' % i + struct.pack('>HH', 1, 1)
    try:
        s.send(q)
    except OSError:
        pass
'''])
            time.sleep(1)
            for _ in range(5):
                self.assertEqual(self.ask('ok.example'), NAMED)
            stack.collect(wire)
            wire.sock.close()

        with opened(self.net) as loud:
            self.assertEqual(
                neighbour.spared(self.box, loud, flood), '')
            self.assertGreater(loud.denials()['connection_rate'], 100)
            self.assertNotIn('connection_rate', self.box.denials())

    def test_held_tcp_connections_to_the_resolver_are_bounded(self):
        with opened(self.net) as loud:
            wire = loud.start(['python3', '-c', net_world.GUEST + f'''
held = []
for _ in range(100):
    s = socket.socket()
    s.settimeout(0.3)
    try:
        s.connect(('{RESOLVER}', 53))
        held.append(s)
    except OSError:
        pass
print(len(held), flush=True)
time.sleep(4)
'''])
            kind = 0
            while kind != stack.EVENT:
                kind, _, payload = wire.recv()
            self.assertLessEqual(int(stack.get_event(payload)[2]), 4)
            self.assertEqual(self.ask('ok.example', 'tcp_=True'), NAMED)
            stack.collect(wire)
            wire.sock.close()


if __name__ == '__main__':
    stack.main()
