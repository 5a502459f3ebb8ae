"""C7: a name that is now a file, now a FIFO, a socket or a device never makes
the file executor wait."""
import stack

SWAP = r'''
import socket, time
os.chdir('/workspace')
open('plain', 'w').write('plain')
os.mkfifo('fifo')
s = socket.socket(socket.AF_UNIX)
s.bind('socket')
os.symlink('/dev/zero', 'zero')
os.symlink('/dev/full', 'full')
print('begun', flush=True)
end = time.monotonic() + 20
while time.monotonic() < end:
    for name in ('plain', 'fifo', 'socket', 'zero', 'full'):
        os.link(name, 'new', follow_symlinks=False)
        os.rename('new', 'now')
        try:
            os.unlink('new')
        except FileNotFoundError:
            pass
'''


def attempt(self):
    wire = self.box.start(['python3', '-c', stack.GUARD + SWAP])
    while True:
        kind, _, payload = wire.recv()
        if kind == stack.EVENT and b'begun' in payload:
            break
    for n in range(300):
        argv = (['read', '/workspace/now', '0', '0', '0'],
                ['append', '/workspace/now'],
                ['write', '/workspace/now', '-', '0'])[n % 3]
        done = self.box.run(argv, kind=stack.FS, wait=20,
                            stdin=b'' if n % 3 == 0 else b'\0\0\0\0')
        self.assertEqual((done.reason, done.code), ('exited', 0), done)
        self.assertLess(len(done.out), 1000)
    self.box.kill(wire.id)
    stack.collect(wire)
    wire.sock.close()
