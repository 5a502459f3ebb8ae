"""F22: attributes are counted and some are not his."""


def attempt(self):
    box = self.another()
    done = self.guest(r'''
with open('/workspace/x', 'w'):
    pass
for name in ('trusted.overlay.redirect', 'trusted.x', 'security.ima',
             'security.evm', 'security.x'):
    try:
        os.setxattr('/workspace/x', name, b'1')
        print(name)
    except OSError as e:
        refused(name, errno.errorcode[e.errno], 'EPERM', 'EOPNOTSUPP')
before = os.statvfs('/workspace').f_bfree
n = 0
try:
    for i in range(1000):
        path = '/workspace/f%d' % i
        with open(path, 'w'):
            pass
        for k in range(1000):
            os.setxattr(path, 'user.%d' % k, bytes(3500))
            n += 1
except OSError as e:
    if e.errno not in (errno.ENOSPC, errno.E2BIG):
        print(e)
for i in range(100):
    with open('/workspace/g%d' % i, 'w'):
        pass
    os.setxattr('/workspace/g%d' % i, 'user.x', os.urandom(3500))
if before - os.statvfs('/workspace').f_bfree < 100:
    print('attributes are free of charge', n)
''', sandbox=box)
    self.assertEqual((done.code, done.stdout), (0, ''), done)
