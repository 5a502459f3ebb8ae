"""F3: masks cannot be taken off."""


def attempt(self):
    self.both(r'''
for path in (b'/proc/kallsyms', b'/proc/kcore', b'/proc/sys', b'/proc',
             b'/dev/null', b'/dev', b'/tmp', b'/usr', b'/'):
    for flags in (0, 2, 8):
        refused(path, call(166, path, flags), 'EPERM', 'EINVAL')
''')
