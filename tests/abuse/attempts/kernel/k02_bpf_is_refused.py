"""K2: bpf is refused, whatever its command."""


def attempt(self):
    self.refuses(
        *((f'bpf {n}', 321, f'{n}, page, 72') for n in range(0, 38)))
