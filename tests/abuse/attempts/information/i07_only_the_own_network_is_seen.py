"""I7: only the own network is seen."""


def attempt(self):
    seen = self.box.sh('cat /proc/net/unix /proc/net/tcp /proc/net/tcp6 '
                       '/proc/net/udp /proc/net/arp').stdout
    for word in (self.stack.name, 'broker', 'nginx', 'systemd', 'dbus'):
        self.assertNotIn(word, seen)
    self.assertEqual(self.box.sh(
        'tail -n +3 /proc/net/dev | cut -d: -f1').stdout.strip(), 'lo')
