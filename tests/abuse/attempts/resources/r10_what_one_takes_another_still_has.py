"""R10: what one takes another still has. Counts that a user namespace has in
common with its maker."""
import stack


def attempt(self):
    floods = {
        'inotify': r'''
n = 0
while libc.inotify_init1(0) >= 0:
    n += 1
''', 'message queues': r'''
import struct
n = 0
attr = struct.pack('8l', 0, 10, 8192, 0, 0, 0, 0, 0)
while True:
    got = call(240, b'q%d' % n, 0o102, 0o600, attr)
    if isinstance(got, str):
        break
    n += 1
''', 'signals': r'''
n = 0
while not isinstance(call(222, 1, 0, page), str):
    n += 1
'''}
    for name, script in floods.items():
        with self.subTest(what=name):
            script += 'print(n, flush=True)\n'
            hold = self.box.start(['python3', '-c', stack.GUARD + script +
                                   'import time; time.sleep(20)'])
            while True:
                kind, _, payload = hold.recv()
                if kind == stack.EVENT:
                    first = int(stack.get_event(payload)[2])
                    break
            done = self.guest(script, sandbox=self.other)
            self.box.kill(hold.id)
            hold.sock.close()
            # Landlock lets nobody open a queue, on kernels that ask it.
            if name != 'message queues':
                self.assertGreater(first, 0)
            self.assertGreaterEqual(int(done.stdout), first, done)
