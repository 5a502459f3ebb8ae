"""K7: the machine is not administered."""


def attempt(self):
    self.refuses(
        ('mount', 165, 'b"none", b"/tmp", b"tmpfs", 0, 0'),
        ('umount2', 166, 'b"/tmp", 0'),
        ('pivot_root', 155, 'b"/tmp", b"/tmp"'),
        ('chroot', 161, 'b"/tmp"'),
        ('swapon', 167, 'b"/none", 0'), ('swapoff', 168, 'b"/none"'),
        ('acct', 163, 'b"/none"'), ('quotactl', 179, '0, b"/none", 0, 0'),
        ('reboot', 169, '0, 0, 0, 0'), ('syslog', 103, '3, page, 4096'),
        ('vhangup', 153, ''), ('settimeofday', 164, 'page, 0'),
        ('clock_settime', 227, '0, struct.pack("qq", -1, -1)'),
        ('adjtimex', 159, 'struct.pack("I", 0x8000) + bytes(300)'),
        ('clock_adjtime', 305, '0, bytes(300)'),
        ('sethostname', 170, 'b"x", 1'),
        ('setdomainname', 171, 'b"x", 1'), ('iopl', 172, '3'),
        ('ioperm', 173, '0, 1, 1'))
