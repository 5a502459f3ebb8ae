"""K14: personality is refused."""


def attempt(self):
    self.refuses(
        ('personality', 135, '0x0200000', 'ENOSYS', 'EPERM'),
        ('READ_IMPLIES_EXEC', 135, '0x0400000', 'ENOSYS', 'EPERM'))
