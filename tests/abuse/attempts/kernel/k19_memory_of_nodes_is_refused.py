"""K19: mbind, migrate_pages, move_pages and set_mempolicy are refused."""


def attempt(self):
    self.refuses(
        ('mbind', 237, '0, 0, 0, 0, 0, 0'),
        ('migrate_pages', 256, '0, 0, 0, 0'),
        ('move_pages', 279, '0, 0, 0, 0, 0, 0'),
        ('set_mempolicy', 238, '0, 0, 0'))
