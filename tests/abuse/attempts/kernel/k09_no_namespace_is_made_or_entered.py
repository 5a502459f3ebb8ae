"""K9: clone3 is not there; unshare and setns are refused."""


def attempt(self):
    self.refuses(
        ('clone3', 435, 'page, 88', 'ENOSYS'),
        ('unshare', 272, '0'),
        ('setns', 308, '0, 0'))
