"""F2: mountinfo names no place of the host."""


def attempt(self):
    for user in ('root', 'sandbox'):
        seen = self.box.sh('cat /proc/self/mountinfo /proc/mounts',
                           user=user).stdout
        self.assertIn(' / / ', seen)
        for word in (self.box.id, self.stack.data, self.stack.name,
                     '/var/lib', 'sandboxes', 'images', '/home'):
            self.assertNotIn(word, seen)
