"""Datagrams to everywhere are bounded too."""
import re

from net_world import opened


def attempt(self):
    with opened(self.net) as loud:
        loud.py('''
s = socket.socket(type=socket.SOCK_DGRAM)
for i in range(20000):
    try:
        s.sendto(b'x', ('203.0.113.66', 1024 + i))
    except OSError:
        pass
''')
        mine = [line for line in self.net.flows()
                if f'src={loud.addr()} ' in line]
        self.assertLessEqual(len(mine), 528)
        self.assertTrue(re.search('connection', str(loud.denials())))
    took = self.connect_ms(self.box)
    self.assertLess(took[len(took) // 2], 1000, took)
