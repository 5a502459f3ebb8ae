"""N7: raw and packet sockets."""


def attempt(self):
    self.both('''
for family, kind, protocol in (
        (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
        (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW),
        (socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6),
        (socket.AF_PACKET, socket.SOCK_RAW, 0x0300),
        (socket.AF_PACKET, socket.SOCK_DGRAM, 0x0300),
        (44, socket.SOCK_RAW, 0)):
    try:
        socket.socket(family, kind, protocol)
        print(family, kind, protocol, 'made')
    except OSError as e:
        refused((family, kind), name(e), 'EPERM', 'EAFNOSUPPORT', 'EACCES',
                'ESOCKTNOSUPPORT', 'EPROTONOSUPPORT')
''')
