"""K4: userfaultfd is refused, also for faults of user mode only."""


def attempt(self):
    self.refuses(
        ('userfaultfd', 323, '0'),
        ('userfaultfd user', 323, '1'))
