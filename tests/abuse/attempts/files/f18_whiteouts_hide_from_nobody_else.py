"""F18: whiteouts hide from nobody else."""


def attempt(self):
    other = self.stack.sandbox()
    victim = self.stack.sandbox()
    victim.sh('rm -rf /usr/lib/python3*/json /opt/warren/kernels')
    self.assertEqual(other.sh(
        'ls -d /usr/lib/python3*/json /opt/warren/kernels').code, 0)
    other.destroy()
    victim.destroy()
