"""F19: layers are not reached by name."""


def attempt(self):
    self.both(r'''
for path in ('/proc/self/fd/4', '/root/upper', '/upper', '/usr/upper',
             '/run/sbx', '/work', '/files'):
    refused(path, opens(path), 'ENOENT', 'EACCES')
''')
