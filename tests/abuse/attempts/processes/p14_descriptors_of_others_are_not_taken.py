"""P14: descriptors of others are not taken."""


def attempt(self):
    self.both(r'''
pidfd = call(434, 1, 0)
if isinstance(pidfd, int):
    for fd in range(8):
        refused(fd, call(438, pidfd, fd, 0))
refused('own', call(438, 0, 0, 0))
''')
