"""P13: no namespace is entered."""


def attempt(self):
    self.both(r'''
for name in os.listdir('/proc/self/ns'):
    fd = opens('/proc/self/ns/' + name)
    if isinstance(fd, int):
        refused('setns ' + name, call(308, fd, 0))
    refused('of init ' + name, opens('/proc/1/ns/' + name), 'ENOENT',
            'EACCES', 'EPERM')
pidfd = call(434, 1, 0)
if isinstance(pidfd, int):
    refused('setns pidfd', call(308, pidfd, 0x20000))
''')
