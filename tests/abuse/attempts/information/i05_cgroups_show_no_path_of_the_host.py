"""I5: cgroups show no path of the host."""


def attempt(self):
    for user in ('root', 'sandbox'):
        seen = self.box.sh('cat /proc/self/cgroup', user=user).stdout
        for line in seen.splitlines():
            self.assertRegex(line, r'^\d+:[^:]*:/(e\d+)?$')
        self.assertNotIn(self.box.id, seen)
