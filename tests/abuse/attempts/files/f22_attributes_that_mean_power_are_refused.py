"""F22: attributes that mean power are refused."""


def attempt(self):
    self.both(r'''
path = '/tmp/attr%d' % os.getuid()
upper = '/workspace/attr%d' % os.getuid()
for where in (path, upper):
    open(where, 'w').close()
    for name in ('trusted.overlay.opaque', 'trusted.overlay.redirect',
                 'trusted.x', 'security.ima'):
        try:
            os.setxattr(where, name, b'y')
            print(where, name)
        except OSError as e:
            refused(name, errno.errorcode[e.errno],
                    'EPERM', 'EOPNOTSUPP', 'EACCES')
count = 0
try:
    for i in range(1000):
        os.setxattr(upper, 'user.n%d' % i, b'x' * 65000)
        count += 1
except OSError as e:
    refused('user', errno.errorcode[e.errno], 'ENOSPC', 'E2BIG',
            'EOPNOTSUPP', 'ERANGE')
if count > 100:
    print('no limit', count)
''')
