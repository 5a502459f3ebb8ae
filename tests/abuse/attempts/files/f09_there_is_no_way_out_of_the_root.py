"""F9: there is no way out of the root."""


def attempt(self):
    self.both(r'''
os.makedirs('/tmp/jail%d' % os.getuid(), exist_ok=True)
kept = os.open('/', os.O_RDONLY)
refused('chroot', call(161, b'/tmp'), 'EPERM')
os.fchdir(kept)
for i in range(100):
    os.chdir('..')
for path in ('.', '../../..', '/proc/self/root', '/proc/self/cwd/..'):
    s, r = os.stat(path), os.stat('/')
    if (s.st_dev, s.st_ino) != (r.st_dev, r.st_ino):
        print(path, 'is elsewhere')
if os.path.exists('/var/lib/dpkg/lock'):
    print('the root of the machine')
''')
