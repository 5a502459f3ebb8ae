"""N2: metadata in all its forms."""
from net_world import REFUSED


def attempt(self):
    got = self.box.py('''
def form(f, text):
    try:
        s = socket.socket(f)
        s.settimeout(3)
        s.connect((text, 80))
        return 'reached'
    except OSError as e:
        return name(e)
for text in ('169.254.169.254', '2852039166', '0xa9fea9fe', '0xa9.254.43518',
             '0251.0376.0251.0376'):
    info = socket.getaddrinfo(text, 80, type=socket.SOCK_STREAM)
    print(form(info[0][0], info[0][4][0]))
print(form(socket.AF_INET6, '::ffff:169.254.169.254'))
print(form(socket.AF_INET6, 'fd00:ec2::254'))
''')
    self.assertEqual(got.stdout.split(),
                     [REFUSED] * 6 + ['ENETUNREACH'], got)
    self.assertGreaterEqual(self.box.denials()['private_address'], 6)
