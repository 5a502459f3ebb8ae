"""C6: while a tree is listed and deleted, its directories become links to
others: nothing outside of the tree is listed or deleted."""
import os
import tempfile

import stack

SWAP = r'''
import shutil, time
print('begun', flush=True)
end = time.monotonic() + 8
n = 0
while time.monotonic() < end:
    n += 1
    try:
        os.makedirs('/workspace/t/a/b/c', exist_ok=True)
        for i in range(5):
            open('/workspace/t/a/b/%d' % i, 'w').close()
        os.rename('/workspace/t/a/b', '/workspace/t/gone%d' % n)
        os.symlink(('/workspace/keep', sys.argv[1])[n % 2], '/workspace/t/a/b')
        os.unlink('/workspace/t/a/b')
    except OSError:
        pass
'''


def attempt(self):
    with tempfile.TemporaryDirectory(prefix='warren-c06-') as folder:
        os.chmod(folder, 0o777)
        names = {f'f{n}' for n in range(5)}
        for name in names:
            with open(os.path.join(folder, name), 'w', encoding='ascii'):
                pass
        self.box.sh('mkdir -p /workspace/keep/deep; '
                    'touch /workspace/keep/1 /workspace/keep/deep/2')
        wire = self.box.start(['python3', '-c', stack.GUARD + SWAP, folder])
        while True:
            kind, _, payload = wire.recv()
            if kind == stack.EVENT and b'begun' in payload:
                break
        for _ in range(80):
            for argv in (['list', '/workspace/t', '1', '1', '10000'],
                         ['delete', '/workspace/t', '1']):
                done = self.box.run(argv, kind=stack.FS)
                self.assertEqual(done.reason, 'exited', done)
                self.assertNotIn(b'deep', done.out)
        self.box.kill(wire.id)
        stack.collect(wire)
        wire.sock.close()
        self.assertEqual(set(os.listdir(folder)), names)
    self.assertEqual(self.box.sh('find /workspace/keep -type f | wc -l'
                                 ).stdout, '2\n')
