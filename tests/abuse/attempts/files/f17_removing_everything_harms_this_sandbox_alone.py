"""F17: removing everything harms this sandbox alone."""
import os


def attempt(self):
    other = self.stack.sandbox()
    usr = os.listdir('/usr/bin')
    victim = self.stack.sandbox()
    victim.sh('rm -rf --no-preserve-root /etc /opt /usr/bin /usr/lib/git* /'
              ' 2>/dev/null', timeout_ms=4000, grace_ms=1)
    self.assertEqual(other.sh('ls /usr/bin | wc -l; python3 -c "print(1)"'
                              ).stdout.split()[-1], '1')
    self.assertLessEqual(set(usr), set(os.listdir('/usr/bin')))
    fresh = self.stack.sandbox()
    self.assertEqual(fresh.sh('echo fine').stdout, 'fine\n')
    for sandbox in (victim, fresh, other):
        self.assertEqual(sandbox.destroy(), 'none')
