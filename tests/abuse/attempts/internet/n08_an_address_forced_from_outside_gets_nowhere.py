"""N8: an address forced from outside gets nowhere."""
import subprocess

from net_world import PUBLIC, opened


def attempt(self):
    with opened(self.net) as a, opened(self.net) as b:
        for address in (b.addr(), '203.0.113.99', '10.9.9.9'):
            _, init = a.pids()
            ns = f'--net=/proc/{init}/ns/net'
            subprocess.run(['nsenter', ns, 'ip', 'addr', 'add',
                            address + '/32', 'dev', 'eth0'], check=True)
            got = self.root_in(a, f'''
s = socket.socket(type=socket.SOCK_DGRAM)
s.settimeout(1)
s.bind(("{address}", 0))
s.sendto(b'x', ("{PUBLIC}", 9999))
try:
    print(s.recv(100))
except OSError as e:
    print(name(e))
''')
            self.assertEqual(got, 'timeout')
        self.assertEqual(a.denials(), {'spoofed_source': 3})
        self.assertEqual(b.denials(), {})
        self.assertEqual(a.tcp(PUBLIC), 'ok')
