"""I11: no other sandbox is named anywhere."""
import os


def attempt(self):
    other = self.stack.sandbox()
    marker = f'marker-{os.getpid()}'
    wire = other.start(['/bin/bash', '-c', f'echo {marker} > /dev/shm/m; '
                        f'echo {marker} > /tmp/{marker}; exec -a {marker} '
                        'sleep 20'])
    wire.recv()
    for user in ('root', 'sandbox'):
        done = self.guest(r'''
words = [w.encode() for w in sys.argv[1:]]
for top in ('/proc', '/run', '/dev/shm', '/tmp', '/var', '/etc', '/home'):
    for path, folders, files in os.walk(top):
        folders[:] = [f for f in folders if not f.isdigit() or
                      int(f) != os.getpid()]
        if path.startswith('/proc/self') or '/task/' in path:
            folders[:] = []
            continue
        for name in files:
            try:
                fd = os.open(os.path.join(path, name),
                             os.O_RDONLY | os.O_NONBLOCK)
                data = os.read(fd, 1 << 18)
                os.close(fd)
            except OSError:
                continue
            for word in words:
                if word in data or word in name.encode():
                    print(os.path.join(path, name), word)
''', other.id, marker, self.stack.name, user=user)
        self.assertEqual((done.code, done.stdout), (0, ''), done)
    wire.sock.close()
    other.destroy()
