"""F13: the file executor is not caught."""
import stack


def attempt(self):
    watch = self.box.start(['python3', '-c', stack.GUARD + r'''
import time
print('begun', flush=True)
end = time.monotonic() + 2
while time.monotonic() < end:
    for pid in os.listdir('/proc'):
        if not pid.isdigit() or int(pid) == os.getpid():
            continue
        for name in ('exe', 'root', 'cwd', 'fd/0', 'fd/1', 'mem', 'environ'):
            try:
                fd = os.open('/proc/%s/%s' % (pid, name), os.O_RDONLY)
                print('opened', pid, name)
                os.close(fd)
            except OSError:
                pass
'''])
    for _ in range(100):
        self.box.run(['list', '/'], kind=stack.FS)
    done = stack.collect(watch)
    watch.sock.close()
    self.assertEqual(done.stdout, 'begun\n', done)
