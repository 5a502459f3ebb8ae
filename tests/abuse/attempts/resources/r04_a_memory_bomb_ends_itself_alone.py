"""R4: a memory bomb ends itself alone."""


def attempt(self):
    for user in ('root', 'sandbox'):
        done = self.bomb('x = b"x" * (1 << 30)', user, timeout_ms=15000)
        self.assertEqual((done.reason, done.code),
                         ('out_of_memory', 137), done)
