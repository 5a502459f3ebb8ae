"""A sandbox's own lists: deny wins, allow narrows and never opens."""
import struct

import net_world
import stack
from net_world import (HEAD, HOST, INTERNET, LISTS, METADATA, NAMED, PUBLIC,
                       PUBLIC2, START, opened)

REFUSED = 'EHOSTUNREACH'


class Lists(net_world.Case):
    def test_what_is_denied_is_refused_to_this_sandbox_only(self):
        with opened(self.net, deny=('203.0.113.0/28',)) as box:
            self.assertEqual(box.tcp(PUBLIC), REFUSED)
            self.assertEqual(box.udp(PUBLIC), REFUSED)
            self.assertEqual(box.tcp(PUBLIC2), 'ok')
            self.assertEqual(box.denials(), {'denied': 2})
            self.assertEqual(self.box.tcp(PUBLIC), 'ok')

    def test_what_is_not_allowed_is_refused(self):
        with opened(self.net, allow=(PUBLIC, '203.0.113.16/28')) as box:
            self.assertEqual(box.tcp(PUBLIC), 'ok')
            self.assertEqual(box.tcp(PUBLIC2), 'ok')
            self.assertEqual(box.tcp(NAMED), REFUSED)
            self.assertEqual(box.denials(), {'not_allowed': 1})
            # Names are resolved still.
            self.assertIn(NAMED, box.sh('getent hosts ok.example').stdout)

    def test_deny_wins_over_allow(self):
        with opened(self.net, deny=(PUBLIC,), allow=('203.0.113.0/24',)
                    ) as box:
            self.assertEqual(box.tcp(PUBLIC), REFUSED)
            self.assertEqual(box.tcp(PUBLIC2), 'ok')
            self.assertEqual(box.denials(), {'denied': 1})

    def test_allow_opens_nothing_that_the_policy_closes(self):
        other = self.box.addr()
        with opened(self.net, allow=('0.0.0.0/0',)) as box:
            self.assertEqual(box.tcp(PUBLIC), 'ok')
        with opened(self.net, allow=(METADATA, '10.0.0.0/8', HOST, PUBLIC,
                                     '192.168.0.0/16')) as box:
            for address in (METADATA, '10.1.2.3', HOST, other,
                            '192.168.77.9'):
                self.assertEqual(box.tcp(address), REFUSED)
            self.assertEqual(box.tcp(PUBLIC, 25), REFUSED)
            self.assertEqual(set(box.denials()), {
                'private_address', 'host', 'other_sandbox', 'smtp'})

    def test_ranges_within_ranges_and_a_full_list(self):
        nested = ('203.0.113.0/24', PUBLIC, '203.0.112.0/23', PUBLIC,
                  '203.0.113.0/25')
        with opened(self.net, deny=nested) as box:
            self.assertEqual(box.tcp(PUBLIC), REFUSED)
            self.assertEqual(box.tcp(NAMED), 'ok')
        full = tuple(f'203.0.{100 + i}.0/24' for i in range(32)) + tuple(
            f'9.9.{i}.0/24' for i in range(32))
        with opened(self.net, deny=full) as box:
            self.assertEqual(box.tcp(PUBLIC), REFUSED)
            self.assertEqual(box.tcp(NAMED), REFUSED)
            self.assertEqual(box.lists(allow=full), 'none')
            self.assertEqual(box.tcp(PUBLIC), 'ok')
        with opened(self.net, deny=('0.0.0.0/0',)) as box:
            self.assertEqual(box.tcp(PUBLIC), REFUSED)

    def test_new_lists_hold_at_once_and_end_what_they_forbid(self):
        with opened(self.net) as box:
            wire = box.start(['python3', '-c', net_world.GUEST + f'''
s = socket.create_connection(('{PUBLIC}', 80), 3)
print('connected', flush=True)
s.settimeout(1)
while True:
    time.sleep(0.05)
    try:
        s.sendall(b'x')
        s.recv(10)
    except OSError as e:
        print(name(e))
        break
'''])
            kind = 0
            while kind != stack.EVENT:
                kind, _, payload = wire.recv()
            self.assertIn(b'connected', payload)
            self.assertEqual(box.lists(deny=(PUBLIC,)), 'none')
            self.assertEqual(box.tcp(PUBLIC), REFUSED)
            ended = stack.collect(wire)
            wire.sock.close()
            self.assertIn(ended.stdout.strip(), ('EHOSTUNREACH', 'timeout',
                                                 'ECONNRESET'))
            self.assertEqual(box.lists(), 'none')
            self.assertEqual(box.tcp(PUBLIC), 'ok')

    def test_what_new_lists_allow_goes_on(self):
        for lists in ({'deny': (PUBLIC2,)}, {'allow': (PUBLIC, NAMED)}):
            with opened(self.net, deny=('9.9.9.0/24',)) as box:
                wire = box.start(['python3', '-c', net_world.GUEST + f'''
s = socket.create_connection(('{PUBLIC}', 80), 3)
s.settimeout(1)
print('connected', flush=True)
for _ in range(60):
    time.sleep(0.02)
    s.sendall(b'x')
    s.recv(10)
s.shutdown(socket.SHUT_WR)
print('end', s.recv(10))
'''])
                kind = 0
                while kind != stack.EVENT:
                    kind, _, payload = wire.recv()
                self.assertEqual(box.lists(**lists), 'none')
                self.assertEqual(box.tcp(PUBLIC2), REFUSED)
                self.assertEqual(stack.collect(wire).stdout,
                                 "end b''\n")
                wire.sock.close()

    def test_lists_go_with_the_sandbox(self):
        with opened(self.net, deny=(PUBLIC,), allow=('203.0.0.0/16',)
                    ) as box:
            address = box.addr()
            self.assertIn(address, ' '.join(self.net.elements('deny')))
        stack.until(5, 'its lists are gone', lambda: all(
            address not in ' '.join(self.net.elements(name))
            for name in ('deny', 'allow')))

    def test_lists_of_one_without_a_network_are_refused(self):
        with opened(self.net, network=0) as box:
            self.assertEqual(box.lists(deny=(PUBLIC,)), 'state')
        self.assertEqual(self.net.ask(self.net.net_request(
            LISTS, stack.new_id(), network=0))[0], 'not_found')

    def test_malformed_lists_drop_the_peer(self):
        id_ = stack.new_id()
        good = self.net.net_request(START, id_, deny=(PUBLIC, PUBLIC2))
        low_bits = struct.pack('<IB3x', 0x0a000001, 8)
        prefix = struct.pack('<IB3x', 0, 33)
        padding = struct.pack('<IB3s', 0x0a000000, 8, b'\0\1\0')
        count = struct.pack('<HH', 65, 0), struct.pack('<HH', 64, 1), \
            struct.pack('<HH', 65535, 65535), struct.pack('<HH', 1, 0)
        bad = [good[:HEAD] + cidr + good[HEAD + 8:]
               for cidr in (low_bits, prefix, padding)]
        bad += [good[:112] + n + good[116:] for n in count]
        bad += [good[:-1], good + b'\0', good[:HEAD],
                good[:HEAD + 8], good[:HEAD - 1],
                good[:116] + b'\xff' * 4 + good[120:],
                good[:108] + struct.pack('<I', INTERNET + 1) + good[112:],
                good[:-1] + b'\1']
        for data in bad:
            with self.assertRaises(stack.Broken):
                self.net.ask(data)
                print(data)
        self.assertEqual(self.net.broker(stack.PING), 'none')


if __name__ == '__main__':
    stack.main()
