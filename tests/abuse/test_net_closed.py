"""What cannot be made whole is refused: policy internet fails closed, and
policy none knows nothing of it."""
import contextlib
import os
import struct
import subprocess

import net_world
import stack
from net_world import DNS, PUBLIC, START, inside, opened

STEP = 256


class Without(net_world.NetStack):
    """warrend in a mount namespace where some files are covered."""

    def __init__(self, world, hidden=(), **how):
        self.hidden = hidden
        super().__init__(world, **how)

    def prefix(self):
        cover = ''.join(f'mount --bind /dev/null {path} && '
                        for path in self.hidden)
        return ['unshare', '--mount', '--propagation', 'private', 'sh', '-c',
                cover + 'exec "$@"', 'sh']


class Closed(stack.unittest.TestCase):
    def setUp(self):
        why = net_world.can_run()
        if why:
            self.skipTest(why)
        self.world = net_world.World()
        self.addCleanup(self.world.close)

    @contextlib.contextmanager
    def refusing(self, said, **how):
        net = Without(self.world, **how)
        try:
            for _ in range(2):
                id_ = stack.new_id()
                error, answer = net.ask(net.net_request(START, id_))
                self.assertEqual(error, 'state')
                self.assertEqual(struct.unpack('<IIQII', answer)[4], STEP)
            self.assertIn(said, net.said())
            with opened(net, network=0) as box:
                self.assertEqual(box.sh('echo well').stdout, 'well\n')
                self.assertEqual(box.tcp(PUBLIC), 'ENETUNREACH')
            yield net
        finally:
            net.close()
        self.nothing()

    def nothing(self):
        host = self.world.host
        self.assertNotIn('wr', inside(host, 'ip', '-br', 'link').stdout)
        self.assertEqual(inside(host, 'nft', 'list', 'ruleset').stdout, '')
        for link in ('out0', 'all'):
            self.assertEqual(inside(
                host, 'cat', f'/proc/sys/net/ipv4/conf/{link}/forwarding'
            ).stdout, '0\n')

    def test_without_nft(self):
        with self.refusing('nft ended', hidden=('/usr/sbin/nft',)):
            self.nothing()

    def test_without_dnsmasq(self):
        with self.refusing('resolver', hidden=('/usr/sbin/dnsmasq',)):
            self.nothing()

    def test_without_anybody_to_ask(self):
        fd = os.memfd_create('resolv.conf')
        os.write(fd, b'nameserver 127.0.0.53\nnameserver ::1\n')
        hidden = ('/etc/resolv.conf',)
        with self.refusing('set dns', hidden=hidden, conf='rate = 50\n'):
            self.nothing()
        os.close(fd)

    def test_an_uplink_that_is_not_there(self):
        """Halfway: the namespace and the link are there."""
        conf = f'dns = {DNS}\nuplink = nowhere0\n'
        with self.refusing('forwarding of nowhere0', conf=conf):
            self.nothing()

    def test_a_start_that_fails_later_gives_its_slot_back(self):
        net = net_world.NetStack(self.world)
        try:
            for _ in range(20):
                id_ = stack.new_id()
                data = net.net_request(START, id_, deny=('9.9.9.9',))
                data = data[:48] + b'nothere'.ljust(32, b'\0') + data[80:]
                self.assertEqual(net.ask(data)[0], 'not_found')
            stack.until(10, 'their slots are free', lambda: len(
                net.slots_up()) <= 4 and not net.elements('deny'))
            with opened(net) as box:
                self.assertEqual(box.tcp(PUBLIC), 'ok')
        finally:
            net.close()

    def test_a_configuration_that_is_wrong_is_named(self):
        net = net_world.NetStack(self.world)
        try:
            for line, number in (('pool = 10.0.0.0/24', 2),
                                 ('pool = 10.0.0.1/16', 2),
                                 ('# well\nlink = 10.0.0.0/29', 3),
                                 ('rate = 0', 2), ('rate = many', 2),
                                 ('nonsense = 1', 2),
                                 ('uplink = ../../etc', 2),
                                 ('dns = 1.1.1.1, 2.2.2.2, 3.3.3.3, 4.4.4.4',
                                  2),
                                 ('block = 10.0.0.0/33', 2)):
                with self.subTest(line=line):
                    self.assertTrue(net.stop())
                    net.conf = line + '\n'
                    net.start(wait=False)
                    self.assertEqual(net.process.wait(10), 1)
                    self.assertIn(f'warren.ini, line {number}', net.said())
                    net.conf = ''
                    net.start()
            self.assertTrue(net.stop())
            os.chmod(net.data + '/warren.ini', 0o666)
            refused = subprocess.run(
                [f'{stack.BIN}/warrend', '--data', net.data, '--run',
                 net.run], capture_output=True, text=True, check=False)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("must be root's own", refused.stderr)
            net.start()
        finally:
            net.close()


if __name__ == '__main__':
    stack.main()
