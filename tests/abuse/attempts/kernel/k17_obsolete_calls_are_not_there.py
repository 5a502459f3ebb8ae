"""K17: calls that nothing uses any more are not there."""


def attempt(self):
    self.refuses(
        ('uselib', 134, 'b"x"', 'ENOSYS'),
        ('lookup_dcookie', 212, '0, page, 8', 'ENOSYS', 'EPERM'),
        ('nfsservctl', 180, '0, 0, 0', 'ENOSYS'),
        ('ustat', 136, '0, page', 'ENOSYS'),
        ('sysfs', 139, '3', 'ENOSYS'),
        ('_sysctl', 156, 'page', 'ENOSYS'))
