"""The network's life: nothing is left of sandboxes, of a broker that stops,
and everything of one that was killed."""
import os
import subprocess
import time

import net_world
import stack
from net_world import (DNS, HOST, HOST_LAN, NAMED, PUBLIC, PUBLIC2, inside,
                       opened, until)

SETS = ('refused', 'rates', 'asks', 'talks', 'conns', 'deny', 'allow',
        'limited')


class Life(net_world.Case):
    def left(self):
        """What the kernel holds for slots that live, and nothing else."""
        live = {self.box.slot()}
        marks = {slot + 1 for slot in live}
        for name in SETS:
            for element in self.net.elements(name):
                word = element.split()[0]
                if word.startswith('0x'):
                    if int(word, 16) & 0xffff not in marks:
                        return f'{name}: {element}'
                elif word not in {self.box.addr()}:
                    return f'{name}: {element}'
        for line in self.net.flows():
            mark = int(line.split('mark=')[1].split()[0])
            if mark and mark not in marks:
                return line
        if len(self.net.slots_up()) > len(live) + 4:
            return self.net.slots_up()
        return None

    def nothing_left(self):
        deadline = time.monotonic() + stack.PATIENCE_S
        while self.left() is not None:
            if time.monotonic() > deadline:
                self.fail(f'left: {self.left()}; live {self.box.slot()}')
            time.sleep(0.05)

    def namespaces(self):
        """Network namespaces that the broker has descriptors of."""
        fds = f'/proc/{self.net.process.pid}/fd'
        return sum(os.readlink(f'{fds}/{fd}').startswith('net:')
                   for fd in os.listdir(fds)
                   if os.path.lexists(f'{fds}/{fd}'))

    def test_a_hundred_sandboxes_leave_nothing(self):
        before = self.namespaces()
        host = len(self.net.flows(self.world.host))
        fds = len(os.listdir(f'/proc/{self.net.process.pid}/fd'))
        for _ in range(100):
            with opened(self.net, deny=('9.9.9.0/24',)) as box:
                self.assertEqual(box.py(
                    f'print(tcp("{PUBLIC}"), udp("{PUBLIC}"), '
                    f'tcp("10.1.2.3"), udp("{NAMED}"), '
                    'socket.gethostbyname("ok.example"))').stdout,
                    f'ok ok EHOSTUNREACH ok {NAMED}\n')
        self.nothing_left()
        until(10, 'namespaces are let go',
              lambda: self.namespaces() <= before + 20)
        # What is kept ready may be more than before, by less than 100.
        until(5, 'descriptors are closed', lambda: len(os.listdir(
            f'/proc/{self.net.process.pid}/fd')) <= fds + 60)
        # The resolver's own questions, and nothing of sandboxes.
        self.assertLessEqual(
            len([line for line in self.net.flows(self.world.host)
                 if f'dst={DNS} ' not in line]), host)

    def test_burst_of_ends(self):
        boxes = [self.net.open() for _ in range(20)]
        for box in boxes:
            self.assertEqual(box.tcp(PUBLIC), 'ok')
        for box in boxes:
            self.assertEqual(box.destroy(), 'none')
        self.nothing_left()

    def test_a_slot_is_not_used_anew_with_its_connections(self):
        with opened(self.net) as box:
            address, slot = box.addr(), box.slot()
            self.assertEqual(box.tcp(PUBLIC), 'ok')
        until(10, 'its connections are forgotten', lambda: not any(
            f'src={address} ' in line for line in self.net.flows()))
        self.assertNotEqual(slot, self.box.slot())

    def test_last_words_that_nobody_hears_do_not_keep_a_slot(self):
        with opened(self.net) as box:
            address, slot = box.addr(), box.slot()
            wire = box.start(['python3', '-c', net_world.GUEST + f'''
s = socket.create_connection(('{PUBLIC}', 80), 3)
print('connected', flush=True)
time.sleep(60)
'''])
            kind = 0
            while kind != stack.EVENT:
                kind, _, _ = wire.recv()
            inside(self.world.world, 'ip', 'route', 'add', 'blackhole',
                   HOST + '/32')
            wire.sock.close()
        try:
            until(10, 'its interface is gone',
                  lambda: slot not in self.net.slots_up())
            until(5, 'its connection is forgotten', lambda: not any(
                f'src={address} ' in line for line in self.net.flows()))
        finally:
            inside(self.world.world, 'ip', 'route', 'del', 'blackhole',
                   HOST + '/32')

    def test_a_new_address_of_the_host_is_closed_at_once(self):
        # One that the world has too: it was reached before.
        self.assertEqual(self.box.tcp(PUBLIC2), 'ok')
        inside(self.world.host, 'ip', 'addr', 'add', PUBLIC2 + '/32', 'dev',
               'lo')
        try:
            until(3, 'it is refused',
                  lambda: self.box.tcp(PUBLIC2) == 'EHOSTUNREACH')
            self.assertIn('host', self.box.denials())
        finally:
            inside(self.world.host, 'ip', 'addr', 'del', PUBLIC2 + '/32',
                   'dev', 'lo')
        until(3, 'it is open again', lambda: self.box.tcp(PUBLIC2) == 'ok')

    def test_no_change_of_the_host_is_missed_while_many_come(self):
        for i in range(40):
            inside(self.world.host, 'ip', 'addr', 'add', f'192.0.2.{i + 1}/32',
                   'dev', 'lo')
        try:
            until(3, 'the last is known', lambda: '192.0.2.40' in
                  ' '.join(self.net.elements('hosts')))
        finally:
            inside(self.world.host, 'ip', 'addr', 'flush', 'to',
                   '192.0.2.0/24', 'dev', 'lo')
        until(3, 'and that they went', lambda: '192.0.2.' not in
              ' '.join(self.net.elements('hosts')))

    def test_two_instances_on_one_host(self):
        other = net_world.NetStack(self.world)
        try:
            with opened(other) as theirs, opened(self.net) as ours:
                self.assertEqual(theirs.tcp(PUBLIC), 'ok')
                self.assertEqual(ours.tcp(PUBLIC), 'ok')
                links = inside(self.world.host, 'ip', '-4', '-o', 'addr'
                               ).stdout.split()
                ends = [word.split('/')[0] for word in links
                        if word.startswith('169.254.')]
                self.assertEqual(len(ends), 2)
                for box in (theirs, ours):
                    for end in ends:
                        self.assertEqual(box.tcp(end, 8080), 'EHOSTUNREACH')
        finally:
            other.close()
        self.assertEqual(self.box.tcp(PUBLIC), 'ok')


class Broker(stack.unittest.TestCase):
    def setUp(self):
        why = net_world.can_run()
        if why:
            self.skipTest(why)
        self.world = net_world.World()
        self.addCleanup(self.world.close)
        self.net = net_world.NetStack(self.world)
        self.addCleanup(self.net.close)

    def forwarding(self, link):
        return inside(self.world.host, 'cat',
                      f'/proc/sys/net/ipv4/conf/{link}/forwarding'
                      ).stdout.strip()

    def test_nothing_is_done_before_it_is_needed(self):
        with opened(self.net, network=0):
            self.nothing()

    def nothing(self):
        host = self.world.host
        self.assertNotIn('wr', inside(host, 'ip', '-br', 'link').stdout)
        self.assertEqual(inside(host, 'nft', 'list', 'ruleset').stdout, '')
        self.assertEqual(self.forwarding('out0'), '0')
        self.assertEqual(self.forwarding('all'), '0')
        self.assertFalse(os.path.exists(self.net.run + '/egress'))

    def resolver(self):
        with open(self.net.run + '/net/resolver', encoding='ascii') as file:
            return int(file.read().split()[0])

    def test_a_broker_that_stops_removes_everything(self):
        box = self.net.open(deny=('9.9.9.9',))
        self.assertEqual(box.tcp(PUBLIC), 'ok')
        resolver = self.resolver()
        self.assertEqual(self.forwarding('out0'), '1')
        self.assertEqual(self.forwarding('all'), '0')
        self.assertEqual(self.forwarding('lan'), '0')
        self.assertTrue(self.net.stop())
        self.nothing()
        self.assertFalse(stack.alive(resolver))
        self.assertFalse(os.path.exists(self.net.run + '/net'))
        self.net.start()
        with opened(self.net) as again:
            self.assertEqual(again.tcp(PUBLIC), 'ok')

    def test_forwarding_that_was_on_stays_on(self):
        inside(self.world.host, 'sh', '-c',
               'echo 1 >/proc/sys/net/ipv4/ip_forward')
        inside(self.world.lan, 'ip', 'route', 'replace', 'default', 'via',
               HOST_LAN)
        inside(self.world.world, 'ip', 'route', 'replace', '192.168.77.0/24',
               'via', HOST)
        with opened(self.net) as box:
            self.assertEqual(box.tcp(PUBLIC), 'ok')
            # What the host routed before, it routes still.
            got = inside(self.world.lan, 'python3', '-c', net_world.GUEST +
                         f'print(tcp("{PUBLIC}"))').stdout.strip()
            self.assertEqual(got, 'ok')
        self.assertTrue(self.net.stop())
        self.assertEqual(self.forwarding('out0'), '1')
        self.net.start()

    def test_a_killed_broker_is_followed_by_one_that_takes_over(self):
        box = self.net.open(deny=(PUBLIC2,))
        free = self.net.open()
        wire = free.start(['python3', '-c', net_world.GUEST + f'''
s = socket.create_connection(('{PUBLIC}', 80), 3)
for i in range(100):
    s.sendall(b'x'); s.recv(10); time.sleep(0.05)
print('unbroken')
'''])
        self.net.kill()
        self.assertEqual(box.tcp(PUBLIC), 'ok')
        self.assertEqual(box.tcp(PUBLIC2), 'EHOSTUNREACH')
        self.net.start()
        for _ in range(3):
            self.assertEqual(box.tcp(PUBLIC), 'ok')
            self.assertEqual(box.tcp(PUBLIC2), 'EHOSTUNREACH')
            self.assertEqual(box.tcp('10.1.2.3'), 'EHOSTUNREACH')
        until(5, 'names again', lambda: NAMED in
              box.sh('getent hosts ok.example').stdout)
        self.assertEqual(stack.collect(wire).stdout, 'unbroken\n')
        wire.sock.close()
        self.assertEqual(set(box.denials()), {'denied', 'private_address'})
        with opened(self.net) as new:
            self.assertNotIn(new.slot(), (box.slot(), free.slot()))
            self.assertEqual(new.tcp(PUBLIC2), 'ok')
        self.assertEqual(box.lists(), 'none')
        self.assertEqual(box.tcp(PUBLIC2), 'ok')
        self.assertEqual(box.destroy(), 'none')
        self.assertEqual(free.destroy(), 'none')
        until(10, 'slots of both are gone',
              lambda: len(self.net.slots_up()) <= 4)
        self.assertTrue(self.net.stop())
        self.nothing()
        self.net.start()

    def test_a_killed_broker_whose_parts_were_removed_is_repaired(self):
        box = self.net.open()
        self.net.kill()
        link = self.net.link()
        inside(self.world.host, 'ip', 'link', 'del', link)
        inside(self.world.host, 'nft', 'flush', 'ruleset')
        self.net.start()
        self.assertEqual(box.tcp(PUBLIC), 'ok')
        self.assertEqual(box.tcp(HOST), 'EHOSTUNREACH')
        with opened(self.net) as new:
            self.assertEqual(new.tcp(PUBLIC), 'ok')
        # Without any name of the namespace its sandboxes lose the network,
        # and new ones have it. Nothing holds the name, not even the broker
        # that found the namespace by it: what it forked may outlive it for a
        # moment.
        subprocess.run(['umount', self.net.run + '/egress'], check=True)
        self.net.kill()
        self.net.start()
        with opened(self.net) as new:
            self.assertEqual(new.tcp(PUBLIC), 'ok')


if __name__ == '__main__':
    stack.main()
