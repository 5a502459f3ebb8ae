"""F20: locks are no channel between sandboxes."""
import time

import stack


def attempt(self):
    other = self.stack.sandbox()
    hold = self.box.start(['python3', '-c', stack.GUARD + r'''
import fcntl, time
held = []
for path in ('/usr/bin/python3', '/etc/passwd', '/usr/bin/bash',
             '/proc/kallsyms', '/dev/zero', '/'):
    fd = os.open(path, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    held.append(fd)
print('held', flush=True)
time.sleep(5)
'''])
    time.sleep(0.5)
    done = self.guest(r'''
import fcntl
for path in ('/usr/bin/python3', '/etc/passwd', '/usr/bin/bash', '/dev/null',
             '/dev/zero', '/proc/kallsyms', '/'):
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as e:
        print(path, e)
    os.close(fd)
''', sandbox=other)
    self.assertEqual((done.code, done.stdout), (0, ''), done)
    self.box.kill(hold.id)
    self.assertEqual(stack.collect(hold).stdout, 'held\n')
    hold.sock.close()
    other.destroy()
