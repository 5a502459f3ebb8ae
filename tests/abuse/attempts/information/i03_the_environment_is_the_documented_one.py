"""I3: the environment is the documented one."""


def attempt(self):
    for user in ('root', 'sandbox'):
        done = self.box.run(['/usr/bin/env', '-0'], user=user)
        names = {word.split('=')[0]
                 for word in done.stdout.split('\0') if word}
        self.assertEqual(names, {'HOME', 'USER', 'LOGNAME', 'PATH',
                                 'LANG', 'SHELL'})
