"""R9: descriptors in flight are limited."""


def attempt(self):
    done = self.bomb(r'''
import array, socket
files = array.array('i', [os.open('/dev/null', 0) for _ in range(250)])
sent, kept = 0, []
try:
    for _ in range(2000):
        a, b = socket.socketpair()
        kept += [a, b]
        a.setblocking(False)
        try:
            while True:
                a.sendmsg([b'x'], [(1, 1, files)])
                sent += len(files)
        except BlockingIOError:
            pass
except OSError as e:
    print(sent, errno.errorcode[e.errno])
else:
    print(sent, 'never')
''', 'root', timeout_ms=15000)
    sent, why = done.stdout.split()
    self.assertIn(why, ('ETOOMANYREFS', 'EMFILE', 'ENOBUFS', 'ENOMEM'))
    self.assertLess(int(sent), 200000)
