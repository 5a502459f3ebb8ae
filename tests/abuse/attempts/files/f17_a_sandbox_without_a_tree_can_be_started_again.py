"""F17: a sandbox without a tree can be started again."""
import stack


def attempt(self):
    victim = self.stack.sandbox()
    victim.sh('rm -rf /etc /opt /var /root /home /workspace /srv; '
              'ln -s /etc/shadow /etc; ln -s / /workspace; true')
    self.assertEqual(self.stack.broker(stack.STOP, victim.id), 'none')
    again = self.stack.sandbox(victim.id)
    self.assertEqual(again.sh('echo back', cwd='/').stdout, 'back\n')
    again.destroy()
