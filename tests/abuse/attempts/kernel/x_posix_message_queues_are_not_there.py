"""POSIX message queues are not there, and say so: ENOSYS. (System V's are.)"""


def attempt(self):
    self.refuses(('mq_open', 240, 'b"q", os.O_RDWR | os.O_CREAT, 0o600, 0',
                  'ENOSYS'),
                 ('mq_unlink', 241, 'b"q"', 'ENOSYS'))
