"""K5: keyctl, add_key and request_key are refused."""


def attempt(self):
    self.refuses(
        *((f'keyctl {n}', 250, f'{n}, -3, 1') for n in range(0, 33)),
        ('add_key', 248, 'b"user", b"a", b"b", 1, -2'),
        ('request_key', 249, 'b"user", b"a", 0, -2'))
