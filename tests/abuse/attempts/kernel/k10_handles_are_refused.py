"""K10: name_to_handle_at and open_by_handle_at are refused."""


def attempt(self):
    self.refuses(
        ('name_to_handle_at', 303, '-100, b"/", page, page, 0'),
        ('open_by_handle_at', 304, '-100, page, 0'))
