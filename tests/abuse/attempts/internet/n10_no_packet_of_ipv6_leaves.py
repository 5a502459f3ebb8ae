"""N10: no packet of IPv6 leaves."""
import subprocess

from net_world import opened


def attempt(self):
    with opened(self.net) as box:
        self.assertEqual(
            box.sh('ip -6 addr show dev eth0; ip -6 route show dev eth0'
                   ).stdout, '')
        for address in ('2001:db8::1', 'fe80::1%eth0', 'ff02::1%eth0',
                        'fd00:ec2::254', '64:ff9b::a9fe:a9fe'):
            got = box.tcp(address)
            self.assertIn(got, ('ENETUNREACH', 'EADDRNOTAVAIL',
                                'EINVAL', 'ENODEV', 'EHOSTUNREACH'))
        # Where the machine's own root turns it on, nothing passes.
        _, init = box.pids()
        subprocess.run(
            ['nsenter', f'--net=/proc/{init}/ns/net', 'sh', '-ec', '''
echo 0 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6
ip -6 addr add 2001:db8::5/64 dev eth0 nodad
ip -6 neigh add fe80::1 lladdr 02:77:00:00:00:00 dev eth0
ip -6 route add default via fe80::1 dev eth0'''], check=True)
        before = self.sent()
        self.root_in(box, '''
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
for address in ('ff02::1%eth0', '2001:4860::8888', 'fd00:ec2::254'):
    for _ in range(10):
        s.sendto(b'x', socket.getaddrinfo(address, 9999)[0][4])
''')
        self.assertEqual(self.sent(), before)
        self.assertEqual(self.net.egress('ip', '-6', 'addr').stdout, '')
