"""N11: families and protocols not needed are not there."""


def attempt(self):
    self.both(r'''
for family in [0] + list(range(3, 10)) + list(range(11, 16)) + \
        list(range(17, 64)) + [255, 1 << 31]:
    for kind in (1, 2, 3, 5):
        refused(('socket', family, kind), call(41, family, kind, 0),
                'EAFNOSUPPORT')
for family in [0] + list(range(2, 64)):
    refused(('pair', family), call(53, family, 1, 0, page), 'EAFNOSUPPORT')
for family in (2, 10):
    for protocol in (33, 132, 136, 262, 2, 4, 41, 47, 50, 108, 255):
        for kind in (1, 2, 3, 5, 6):
            refused(('protocol', family, kind, protocol),
                    call(41, family, kind, protocol), 'EPROTONOSUPPORT',
                    *(['ESOCKTNOSUPPORT'] if kind > 3 else []))
    for kind in range(4, 16):
        for flags in (0, 0x80000, 0x800, 1 << 32):
            refused(('type', family, kind, flags),
                    call(41, family, kind | flags, 0), 'ESOCKTNOSUPPORT')
''')
