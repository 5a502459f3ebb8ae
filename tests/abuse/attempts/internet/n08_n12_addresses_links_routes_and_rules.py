"""N8, N12: addresses links routes and rules. Each request of rtnetlink that
changes something, raw."""
from net_world import PUBLIC


def attempt(self):
    self.both(r'''
NEWLINK, DELLINK, SETLINK = 16, 17, 19
NEWADDR, DELADDR, NEWROUTE, DELROUTE, NEWNEIGH, NEWRULE = \
    20, 21, 24, 25, 28, 32
NEWQDISC = 36
index = socket.if_nametoindex('eth0')
def attribute(kind, data):
    raw = struct.pack('<HH', 4 + len(data), kind) + data
    return raw + bytes(-len(raw) % 4)
link = struct.pack('<BxHiII', 0, 0, index, 0, 0xffffffff)
addr = struct.pack('<BBBBI', 2, 31, 0, 0, index)
route = struct.pack('<BBBBBBBBI', 2, 0, 0, 0, 254, 4, 0, 1, 0)
neigh = struct.pack('<BxxxiHBB', 2, index, 0x80, 0, 0)
rule = struct.pack('<BBBBBBBBI', 2, 0, 0, 0, 254, 0, 0, 1, 0)
qdisc = struct.pack('<BxxxiIII', 0, index, 1 << 16, 0xffffffff, 0)
ten = socket.inet_aton('10.218.0.77')
asks = (('link down', SETLINK, 0, link),
        ('link delete', DELLINK, 0, link),
        ('link address', SETLINK, 0, link + attribute(1, b'\2\2\2\2\2\2')),
        ('link into another ns', SETLINK, 0,
         link + attribute(19, struct.pack('<I', 1))),
        ('new link', NEWLINK, 0x600,
         struct.pack('<BxHiII', 0, 0, 0, 0, 0) + attribute(3, b'mine\0') +
         attribute(18, attribute(1, b'dummy'))),
        ('new address', NEWADDR, 0x600, addr + attribute(2, ten)),
        ('no address', DELADDR, 0, addr),
        ('new route', NEWROUTE, 0x600,
         route + attribute(4, struct.pack('<I', index))),
        ('no route', DELROUTE, 0, route),
        ('new neighbour', NEWNEIGH, 0x600,
         neigh + attribute(1, ten) + attribute(2, b'\2\2\2\2\2\2')),
        ('new rule', NEWRULE, 0x600, rule),
        ('new qdisc', NEWQDISC, 0x600, qdisc + attribute(1, b'pfifo\0')))
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
s.settimeout(3)
for what, kind, flags, payload in asks:
    s.send(struct.pack('<IHHII', 16 + len(payload), kind, 5 | flags, 1, 0) +
           payload)
    got = s.recv(8192)
    code = struct.unpack('<i', got[16:20])[0]
    refused(what, errno.errorcode.get(-code, code), 'EPERM', 'EOPNOTSUPP')
for bus in (4, 6, 12, 15, 16):
    try:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, bus)
        print('netlink', bus, 'made')
    except OSError as e:
        refused(bus, name(e), 'EPERM', 'EPROTONOSUPPORT', 'EACCES',
                'EAFNOSUPPORT')
for path in ('/proc/sys/net/ipv4/ip_forward',
             '/proc/sys/net/ipv4/conf/eth0/rp_filter',
             '/proc/sys/net/ipv6/conf/eth0/disable_ipv6'):
    got = opens(path, os.O_WRONLY)
    refused(path, got, 'EROFS', 'EACCES', 'EPERM', 'ENOENT')
''')
    self.assertEqual(self.box.tcp(PUBLIC), 'ok')
