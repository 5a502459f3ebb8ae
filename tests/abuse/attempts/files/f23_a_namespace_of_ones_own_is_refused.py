"""F23: a namespace of one's own is refused."""


def attempt(self):
    for user in ('root', 'sandbox'):
        for flags in ('-Urm', '-m', '-U', '-r', '-n', '-p', '-i', '-u',
                      '-C', '-T'):
            done = self.box.sh(f'unshare {flags} true', user=user)
            self.assertNotEqual(done.code, 0, flags)
