"""F11: a setuid program gives no id."""


def attempt(self):
    self.box.sh('cp /usr/bin/id /usr/local/bin/suid; '
                'cp /usr/bin/id /workspace/suid; '
                'chmod 6755 /usr/local/bin/suid /workspace/suid')
    for path in ('/usr/local/bin/suid', '/workspace/suid'):
        done = self.box.sh(f'{path} -u; {path} -g', user='sandbox')
        self.assertEqual(done.stdout, '1000\n1000\n', done)
