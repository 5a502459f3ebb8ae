"""N14: listeners and datagram sockets are bounded by files."""
from net_world import PUBLIC, opened


def attempt(self):
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
