"""K15: modify_ldt is refused."""


def attempt(self):
    self.refuses(
        ('modify_ldt', 154, '1, page, 16', 'ENOSYS', 'EPERM'))
