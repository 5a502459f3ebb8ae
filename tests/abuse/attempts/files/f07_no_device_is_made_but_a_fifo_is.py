"""F7: no device is made but a fifo is."""


def attempt(self):
    self.both(r'''
import stat
for name, mode, dev in (('sda', stat.S_IFBLK, os.makedev(254, 0)),
                        ('mem', stat.S_IFCHR, os.makedev(1, 1)),
                        ('null', stat.S_IFCHR, os.makedev(1, 3))):
    for place in ('/tmp/', '/dev/', '/dev/shm/', os.getcwd() + '/'):
        try:
            os.mknod(place + name + str(os.getuid()), mode | 0o600, dev)
            print(place, name, 'was made')
        except OSError as e:
            refused((place, name), errno.errorcode[e.errno],
                    'EPERM', 'EACCES', 'EEXIST')
os.mkfifo('/tmp/fifo%d' % os.getuid())
''')
