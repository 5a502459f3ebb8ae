"""R5: memory by other ways is counted."""
import stack


def attempt(self):
    ways = {
        'tmpfs': r'''
with open('/tmp/fill%d' % os.getuid(), 'wb') as file:
    while True:
        file.write(bytes(1 << 20))
''', 'memfd': r'''
fd = os.memfd_create('x')
while True:
    os.write(fd, bytes(1 << 20))
''', 'shm': r'''
with open('/dev/shm/fill%d' % os.getuid(), 'wb') as file:
    while True:
        file.write(bytes(1 << 20))
''', 'sysv': r'''
kept = []
while True:
    number = libc.shmget(0, 16 << 20, 0o1600)
    if number < 0:
        raise OSError(ctypes.get_errno(), 'shmget')
    libc.shmat.restype = ctypes.c_void_p
    at = libc.shmat(number, None, 0)
    ctypes.memset(at, 1, 16 << 20)
''', 'pipes': r'''
import fcntl
while True:
    r, w = os.pipe()
    try:
        fcntl.fcntl(w, 1031, 1 << 20)
    except PermissionError:
        pass
    os.set_blocking(w, False)
    try:
        while True:
            os.write(w, bytes(65536))
    except BlockingIOError:
        pass
''', 'sockets': r'''
import socket
kept = []
while True:
    a, b = socket.socketpair()
    a.setblocking(False)
    kept += [a, b]
    try:
        while True:
            a.send(bytes(65536))
    except BlockingIOError:
        pass
''', 'page tables': r'''
libc.mmap.restype = ctypes.c_void_p
while True:
    at = libc.mmap(None, ctypes.c_size_t(1 << 34), 3, 0x4022, -1, 0)
    if at in (None, ctypes.c_void_p(-1).value):
        raise OSError(12, 'mmap')
    for i in range(0, 1 << 34, 2 << 20):
        ctypes.memset(at + i, 1, 1)
''', 'lock': r'''
import mmap
m = mmap.mmap(-1, 64 << 20)
at = ctypes.addressof(ctypes.c_char.from_buffer(m))
refused('mlock', call(149, at, 64 << 20), 'EPERM', 'ENOMEM')
refused('mlockall', call(151, 3), 'EPERM', 'ENOMEM')
'''}
    for name, script in ways.items():
        for user in ('root', 'sandbox'):
            with self.subTest(way=name, user=user):
                box = self.stack.sandbox(pids=self.limits['pids'], memory=self.limits['memory'])
                done = box.run(
                    ['python3', '-c', stack.GUARD + script], user=user,
                    timeout_ms=8000, grace_ms=100)
                self.assertIn(done.reason, (
                    'out_of_memory', 'exited', 'timed_out',
                    'sandbox_gone'), done)
                self.assertEqual(done.stdout, '')
                box.destroy()
