"""Floods: bounded for the one who floods, unfelt by others (research: N13,
N14, N16)."""
import re
import time

import net_world
import stack
from net_world import PUBLIC, inside, opened

BLACKHOLE = '203.0.113.66'


class Total(net_world.Case):
    conf = net_world.Case.conf + 'total = 300\nrate = 1000\n'

    def test_all_sandboxes_together_leave_room_on_the_host(self):
        hold = net_world.GUEST + f'''
held = []
for _ in range(250):
    s = socket.socket()
    s.settimeout(1)
    try:
        s.connect(("{PUBLIC}", 80))
        held.append(s)
    except OSError:
        break
    time.sleep(0.004)
print(len(held), flush=True)
time.sleep(20)
'''
        with opened(self.net) as a, opened(self.net) as b:
            wires = [box.start(['python3', '-c', hold]) for box in (a, b)]
            stack.until(10, 'it is full',
                        lambda: self.box.tcp(PUBLIC) == 'EHOSTUNREACH')
            self.assertIn('connection_count', self.box.denials())
            # Those that are there go on; names too.
            self.assertIn('ok.example', self.box.sh(
                'getent hosts ok.example').stdout)
            for wire in wires:
                wire.sock.close()
        stack.until(10, 'there is room again',
                    lambda: self.box.tcp(PUBLIC) == 'ok')


class Flood(net_world.Case):
    conf = net_world.Case.conf + 'connections = 512\nrate = 100\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        inside(cls.world.world, 'ip', 'route', 'add', 'blackhole', BLACKHOLE)

    def connect_ms(self, box, times=10):
        got = box.py('''
for _ in range(int(sys.argv[2])):
    began = time.monotonic()
    if tcp(sys.argv[1]) != 'ok':
        print('failed')
    print((time.monotonic() - began) * 1000)
    time.sleep(0.02)
''', PUBLIC, str(times))
        self.assertNotIn('failed', got.stdout)
        return sorted(map(float, got.stdout.split()))

    def test_n13_twenty_thousand_connects_to_nowhere(self):
        with opened(self.net) as loud:
            wire = loud.start(['python3', '-c', net_world.GUEST + f'''
held = []
for i in range(20000):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(('{BLACKHOLE}', 1024 + i % 50000))
    held.append(s)
    if len(held) > 900:
        for s in held[:450]:
            s.close()
        held = held[450:]
print('done')
'''], timeout_ms=60000)
            time.sleep(0.5)
            most = self.connect_ms(self.box)
            ended = stack.collect(wire, 60)
            wire.sock.close()
            self.assertEqual(ended.stdout, 'done\n', ended)
            mine = [line for line in self.net.flows()
                    if f'src={loud.addr()} ' in line]
            self.assertLessEqual(len(mine), 512 + 16)
            host = [line for line in self.net.flows(self.world.host)
                    if f'dst={BLACKHOLE} ' in line]
            self.assertLessEqual(len(host), 512 + 200 + 16)
            refused = loud.denials()
            self.assertGreater(refused['connection_rate'], 10000)
            self.assertLess(most[-1], 1000, most)
            print(f'\nneighbour: {most[len(most) // 2]:.1f} ms, worst'
                  f' {most[-1]:.1f} ms; refused {refused}')

    def test_connections_at_once_are_counted(self):
        with opened(self.net) as box:
            got = box.py('''
import resource
held, bad = [], 0
end = time.time() + 15
while time.time() < end and len(held) < 600:
    s = socket.socket()
    s.settimeout(1)
    try:
        s.connect((sys.argv[1], 80))
        held.append(s)
    except OSError as e:
        bad += 1
        if len(held) >= 512:
            break
    time.sleep(0.011)
print(len(held))
for s in held:
    s.close()
''', PUBLIC, timeout_ms=60000)
            self.assertIn(int(got.stdout), range(500, 530), got)
            self.assertIn('connection_count', box.denials())
            # What is closed counts no more.
            stack.until(10, 'connections again',
                        lambda: box.tcp(PUBLIC) == 'ok')

    def test_n14_listeners_and_datagram_sockets_are_bounded_by_files(self):
        with opened(self.net) as box:
            got = box.py('''
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
held = []
try:
    for port in range(1, 65536):
        s = socket.socket(type=socket.SOCK_DGRAM)
        s.bind(('0.0.0.0', port))
        held.append(s)
except OSError as e:
    print(name(e), len(held) < 1024)
''')
            self.assertEqual(got.stdout, 'EMFILE True\n', got)
        self.assertEqual(self.box.tcp(PUBLIC), 'ok')

    def test_n16_a_flood_of_bytes_leaves_room_for_a_neighbour(self):
        with opened(self.net) as loud:
            wire = loud.start(['python3', '-c', net_world.GUEST + f'''
end, total = time.time() + 3, 0
while time.time() < end:
    s = socket.create_connection(('{PUBLIC}', 80), 3)
    s.sendall(b'GET /big HTTP/1.0\\r\\n\\r\\n')
    while time.time() < end:
        n = len(s.recv(1 << 18))
        total += n
        if not n:
            break
    s.close()
print(total / 3e9 * 8)
'''])
            time.sleep(0.5)
            took = self.connect_ms(self.box)
            ended = stack.collect(wire)
            wire.sock.close()
            print(f'\ndown {float(ended.stdout):.2f} Gbit/s; neighbour'
                  f' {took[len(took) // 2]:.1f} ms, worst {took[-1]:.1f} ms')
            self.assertGreater(float(ended.stdout), 0.2)
            self.assertLess(took[-1], 2000)

    def test_datagrams_to_everywhere_are_bounded_too(self):
        with opened(self.net) as loud:
            loud.py('''
s = socket.socket(type=socket.SOCK_DGRAM)
for i in range(20000):
    try:
        s.sendto(b'x', ('203.0.113.66', 1024 + i))
    except OSError:
        pass
''')
            mine = [line for line in self.net.flows()
                    if f'src={loud.addr()} ' in line]
            self.assertLessEqual(len(mine), 528)
            self.assertTrue(re.search('connection', str(loud.denials())))
        self.assertLess(self.connect_ms(self.box)[-1], 1000)


if __name__ == '__main__':
    stack.main()
