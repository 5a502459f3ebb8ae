"""K21: timers end before the machine does."""


def attempt(self):
    self.both(r'''
made = 0
while made < 20000:
    got = call(222, 1, 0, page)
    if isinstance(got, str):
        refused('timer_create', got, 'EAGAIN')
        break
    made += 1
if not 10 < made < 20000:
    print(made)
''')
