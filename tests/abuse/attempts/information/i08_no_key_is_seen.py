"""I8: /proc/keys and key-users show nothing."""


def attempt(self):
    self.both(r'''
for name in ('keys', 'key-users'):
    fd = opens('/proc/' + name, os.O_RDONLY | os.O_NONBLOCK)
    if isinstance(fd, int) and os.read(fd, 4096):
        print(name, 'is not empty')
''')
