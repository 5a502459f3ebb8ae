"""I10: the map shows a slot and no tenant."""
import outside


def attempt(self):
    seen = self.box.sh('cat /proc/self/uid_map /proc/self/gid_map').stdout
    for line in seen.splitlines():
        inside, outside, count = map(int, line.split())
        self.assertEqual((inside, count), (0, 65536))
        self.assertGreaterEqual(outside, 1 << 28)
