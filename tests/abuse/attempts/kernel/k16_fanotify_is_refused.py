"""K16: fanotify_init is refused."""


def attempt(self):
    self.refuses(
        ('fanotify_init', 300, '0, 0'),
        ('unprivileged', 300, '0x200, 0'))
