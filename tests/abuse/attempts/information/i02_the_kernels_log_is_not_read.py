"""I2: the kernel's log is neither read nor cleared."""


def attempt(self):
    self.both(r'''
for what in (2, 3, 4, 5, 9, 10):
    refused(('syslog', what), call(103, what, page, 4096))
for path in ('/dev/kmsg', '/proc/kmsg'):
    fd = opens(path, os.O_RDONLY | os.O_NONBLOCK)
    if isinstance(fd, int) and os.read(fd, 100):
        print(path, 'is read')
''')
    self.assertNotEqual(self.box.sh('dmesg').code, 0)
