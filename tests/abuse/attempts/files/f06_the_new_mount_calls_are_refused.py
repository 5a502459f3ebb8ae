"""F6: the new mount calls are refused."""


def attempt(self):
    self.both(r'''
for name, number, *args in (
        ('fsopen', 430, b'ext4', 0), ('open_tree', 428, -100, b'/', 1),
        ('move_mount', 429, -100, b'/tmp', -100, b'/proc', 0),
        ('fsconfig', 431, 0, 0, b'a', b'b', 0), ('fsmount', 432, 0, 0, 0),
        ('fspick', 433, -100, b'/', 0),
        ('mount_setattr', 442, -100, b'/', 0, page, 32),
        ('statmount', 457, page, page, 512, 0),
        ('listmount', 458, page, page, 8, 0),
        ('open_tree_attr', 467, -100, b'/', 1, page, 32)):
    refused(name, call(number, *args), 'EPERM', 'ENOSYS')
''')
