"""K1: the older queue is not there. Its contexts are counted for the whole
machine."""


def attempt(self):
    self.refuses(('io_setup', 206, '1, page', 'ENOSYS'),
                 ('io_submit', 209, '0, 0, page', 'ENOSYS'))
