"""K3: perf_event_open is refused."""


def attempt(self):
    self.refuses(
        ('perf_event_open', 298, 'page, 0, -1, -1, 0'))
