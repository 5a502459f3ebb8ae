"""I4: names of the machine are not told."""
import os


def attempt(self):
    with open('/proc/sys/kernel/random/boot_id',
              encoding='ascii') as file:
        boot = file.read().strip()
    seen = self.box.sh(
        'hostname; cat /etc/machine-id /etc/hostname '
        '/proc/sys/kernel/random/boot_id /var/lib/dbus/machine-id '
        '/sys/class/dmi/id/product_uuid; uname -n; '
        'cat /proc/sys/kernel/hostname /proc/sys/kernel/domainname'
    ).stdout
    self.assertNotIn(boot, seen)
    self.assertNotIn(os.uname().nodename, seen)
    self.assertEqual(set(seen.split()), {'sandbox', '(none)'})
