"""N9: foreign sources by socket options."""
from net_world import PUBLIC, USERS, opened


def attempt(self):
    with opened(self.net) as box:
        other = self.box.addr()
        for user in USERS:
            done = box.py('''
for option in (15, 19):
    for source in sys.argv[2:]:
        s = socket.socket(type=socket.SOCK_DGRAM)
        s.settimeout(1)
        try:
            s.setsockopt(socket.IPPROTO_IP, option, 1)
            s.bind((source, 0))
            s.sendto(b'x', (sys.argv[1], 9999))
            print(s.recv(100))
        except OSError as e:
            print(name(e))
''', PUBLIC, other, '203.0.113.99', user=user)
            # Bound, but the kernel has no way for such a source.
            self.assertEqual(done.stdout.split(),
                             ['ENETUNREACH'] * 2 + ['EPERM'] * 2, done)
