"""N19: private answers are refused."""


def attempt(self):
    for name in ('rebind', 'meta', 'loop', 'lan', 'cgn'):
        with self.subTest(name=name):
            got = self.ask(f'{name}.example')
            self.assertTrue(got.startswith('code '), got)
            self.assertEqual(
                self.box.sh(f'getent hosts {name}.example').stdout, '')
