"""C5: a name that is now a file, now a link to somewhere else, read and
written by the file executor again and again, never shows or changes a file
of the host."""
import os
import tempfile

import stack

SECRET = b'of the host'
SWAP = r'''
import time
os.chdir('/workspace')
open('plain', 'w').write('plain')
os.symlink(sys.argv[1], 'link')
os.symlink('/proc/self/root' + sys.argv[1], 'other')
print('begun', flush=True)
end = time.monotonic() + 20
while time.monotonic() < end:
    for name in ('plain', 'link', 'other'):
        os.link(name, 'new', follow_symlinks=False)
        os.rename('new', 'now')
        try:
            os.unlink('new')
        except FileNotFoundError:
            pass
'''


def attempt(self):
    with tempfile.TemporaryDirectory(prefix='warren-c05-') as folder:
        os.chmod(folder, 0o777)
        secret = os.path.join(folder, 'secret')
        with open(secret, 'wb') as file:
            file.write(SECRET)
        os.chmod(secret, 0o666)
        wire = self.box.start(['python3', '-c', stack.GUARD + SWAP, secret])
        while True:
            kind, _, payload = wire.recv()
            if kind == stack.EVENT and b'begun' in payload:
                break
        plain = 0
        for n in range(300):
            done = self.box.run(
                ['read', '/workspace/now', '0', '0', '0'] if n % 2 else
                ['append', '/workspace/now'], kind=stack.FS,
                stdin=b'' if n % 2 else b'\4\0\0\0evil\0\0\0\0')
            self.assertNotIn(SECRET, done.out)
            plain += b'plain' in done.out
        self.box.kill(wire.id)
        stack.collect(wire)
        wire.sock.close()
        self.assertGreater(plain, 0)
        with open(secret, 'rb') as file:
            self.assertEqual(file.read(), SECRET)
        self.assertEqual(os.listdir(folder), ['secret'])
