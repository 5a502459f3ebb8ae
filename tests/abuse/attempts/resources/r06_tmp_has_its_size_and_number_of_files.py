"""R6: tmp has its size and number of files."""


def attempt(self):
    for user in ('root', 'sandbox'):
        done = self.bomb(r'''
os.mkdir('/tmp/many%d' % os.getuid())
made = 0
try:
    while made < 200000:
        os.close(os.open('/tmp/many%d/%d' % (os.getuid(), made),
                         os.O_CREAT | os.O_WRONLY))
        made += 1
except OSError as e:
    print(made, errno.errorcode[e.errno])
''', user, timeout_ms=20000)
        self.box.sh('rm -rf /tmp/many*', user=user)
        self.assertIn('ENOSPC', done.stdout, done)
