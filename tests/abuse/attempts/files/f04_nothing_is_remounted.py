"""F4: nothing is remounted."""


def attempt(self):
    self.both(r'''
REMOUNT, BIND, REC, PRIVATE, SHARED = 32, 4096, 16384, 1 << 18, 1 << 20
for path in (b'/proc/sys', b'/proc', b'/', b'/dev', b'/usr', b'/tmp'):
    for flags in (REMOUNT, REMOUNT | BIND, REMOUNT | BIND | 1, BIND,
                  BIND | REC, PRIVATE, SHARED):
        refused((path, flags), call(165, b'none', path, None, flags, None))
''')
