"""R11: waiting things are limited."""


def attempt(self):
    for user in ('root', 'sandbox'):
        done = self.bomb(r'''
for number, *args in ((291, 0), (283, 1, 0), (290, 0, 0)):
    made = 0
    while made < 100000:
        got = call(number, *args)
        if isinstance(got, str):
            refused(number, got, 'EMFILE')
            break
        made += 1
    if made > 65536:
        print(number, made)
    os.closerange(3, 70000)
''', user, timeout_ms=15000)
        self.assertEqual(done.stdout, '', done)
