"""N15: mail ports."""
from net_world import PUBLIC, REFUSED, USERS, opened


def attempt(self):
    with opened(self.net) as box:
        for port in (25, 465, 587):
            for user in USERS:
                self.assertEqual(box.tcp(PUBLIC, port, user=user),
                                 REFUSED)
        self.assertEqual(box.denials(), {'smtp': 6})
        self.assertEqual(box.tcp(PUBLIC, 443), 'ok')
