"""N3: private and special ranges."""
from net_world import LAN, METADATA, PRIVATE, REFUSED, USERS, opened


def attempt(self):
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
