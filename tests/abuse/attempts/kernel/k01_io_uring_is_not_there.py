"""K1: io_uring is not there."""


def attempt(self):
    self.refuses(('setup', 425, '8, page', 'ENOSYS'),
                 ('enter', 426, '0, 1, 1, 0, 0, 0', 'ENOSYS'),
                 ('register', 427, '0, 0, page, 0', 'ENOSYS'))
