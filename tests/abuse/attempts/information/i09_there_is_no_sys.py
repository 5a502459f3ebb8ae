"""I9: there is no sys."""


def attempt(self):
    self.assertEqual(self.box.sh('ls -A /sys').stdout, '')
