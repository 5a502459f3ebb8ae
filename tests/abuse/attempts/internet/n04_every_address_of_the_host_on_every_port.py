"""N4: every address of the host on every port."""
from net_world import HOST, HOST_LAN, REFUSED, TCP_PORTS, inside, opened


def attempt(self):
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
