"""A keeper has the descriptors it needs."""
import outside


def attempt(self):
    keeper, _ = self.box.pids()
    self.box.sh('true')
    allowed = (r'^(socket:|pipe:|anon_inode:|/dev/null$|'
               r'/sys/fs/cgroup/.*/(memory|pids)\.[a-z_]+$|/(.*/)?log$|'
               rf'/.*cgroup.*/{self.box.id}/cgroup\.(freeze|events)$)')
    for number, link in outside.fds(keeper).items():
        self.assertRegex(link, allowed, number)
