"""F24: inotify on files that all sandboxes have from the image tells nothing
of what others do with them; fanotify is refused."""
import stack

WATCH = r'''
import select, time
fd = libc.inotify_init1(0o4000)
paths = [b'/usr', b'/usr/bin', b'/usr/bin/true', b'/usr/bin/python3', b'/etc',
         b'/etc/passwd', b'/lib', b'/dev', b'/dev/null', b'/dev/shm', b'/tmp',
         b'/workspace', b'/proc', b'/opt/warren/bin', b'/']
for path in paths:
    if libc.inotify_add_watch(fd, path, 0xfff) < 0:
        print('no watch on', path)
print('begun', flush=True)
time.sleep(float(sys.argv[1]))
poll = select.poll()
poll.register(fd, select.POLLIN)
if poll.poll(0):
    print('seen', os.read(fd, 4096))
refused('fanotify', call(300, 0, 0))
'''
ACT = ('/usr/bin/true; cat /etc/passwd >/dev/null; cp /usr/bin/true /tmp/x; '
       'echo x >/dev/shm/y; touch /usr/bin/mine /etc/mine; rm /etc/hostname; '
       'mv /usr/bin/yes /usr/bin/no; ls /usr /etc /tmp >/dev/null; '
       'chmod 700 /usr/bin/python3')


def attempt(self):
    other = self.make_box()
    wire = self.box.start(['python3', '-c', stack.GUARD + WATCH, '0.5'])
    while True:
        kind, _, payload = wire.recv()
        if kind == stack.EVENT and b'begun' in payload:
            break
    self.assertEqual(other.sh(ACT).code, 0)
    done = stack.collect(wire)
    wire.sock.close()
    self.assertEqual((done.code, done.stdout, done.stderr), (0, '', ''), done)
