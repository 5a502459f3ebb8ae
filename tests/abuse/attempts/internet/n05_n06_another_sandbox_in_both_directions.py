"""N5, N6: another sandbox in both directions."""
import net_world
import stack
from net_world import (
    HOST, HOST_LAN, REFUSED, USERS, from_outside, inside, opened)


def attempt(self):
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
