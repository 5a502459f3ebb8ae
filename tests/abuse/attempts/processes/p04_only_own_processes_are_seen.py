"""P4: only own processes are seen."""


def attempt(self):
    other = self.stack.sandbox()
    sleeper = other.start(['sleep', '917'])
    sleeper.recv()
    for user in ('root', 'sandbox'):
        seen = self.box.sh('cat /proc/[0-9]*/cmdline | tr "\\0" " "; '
                           'cat /proc/[0-9]*/comm', user=user).stdout
        for word in ('917', 'keeper', 'warren', 'nginx', 'systemd'):
            self.assertNotIn(word, seen)
    sleeper.sock.close()
    other.destroy()
