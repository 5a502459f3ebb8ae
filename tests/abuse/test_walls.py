"""The walls one by one, those that no other file tries (sandbox/WALLS.md)."""
import os

import stack

TTYS = 64  # of one sandbox; see mount.c


def has_landlock():
    """By the words of warrend itself, which uses what it finds."""
    import subprocess
    said = subprocess.run([f'{stack.BIN}/warrend', '--probe'], check=True,
                          capture_output=True, text=True).stdout
    return 'second wall' in said


class Walls(stack.Case):
    def test_no_device_is_made_by_the_second_wall(self):
        if not has_landlock():
            self.skipTest('this kernel has no Landlock of ABI 2 or newer')
        # Its refusal comes first, and is EACCES.
        self.both(r'''
for mode in (0o20600, 0o60600):
    for dev in (0x103, 0, 0x700):
        refused((mode, dev), call(133, b'/tmp/d', mode, dev), 'EACCES')
        refused((mode, dev), call(259, -100, b'/tmp/d', mode, dev), 'EACCES')
''')

    def test_the_second_wall_hinders_no_program(self):
        self.both(r'''
import shutil, socket, tempfile
top = tempfile.mkdtemp()
a, b = os.path.join(top, 'a'), os.path.join(top, 'b')
os.mkdir(a)
os.mkdir(b)
with open(a + '/f', 'w') as file:
    file.write('text')
os.rename(a + '/f', b + '/g')
os.link(b + '/g', a + '/h')
os.symlink('g', b + '/s')
os.truncate(b + '/s', 2)
os.mkfifo(a + '/p')
os.mknod(a + '/r', 0o100600)
socket.socket(socket.AF_UNIX).bind(a + '/u')
os.rename(a, b + '/inner')
shutil.copytree('/usr/share/python3', top + '/c')
os.chmod(b + '/g', 0o755)
if open(b + '/inner/h').read() != 'te':
    print('another text')
shutil.rmtree(top)
for name in ('null', 'zero', 'full', 'random', 'urandom', 'shm', 'fd'):
    os.close(os.open('/dev/' + name, os.O_RDONLY))
import fcntl
fcntl.ioctl(os.open('/dev/random', os.O_RDONLY), 0x80045200, page)
''')

    def test_terminals_of_its_own_work(self):
        self.both(r'''
import fcntl, pty, subprocess, termios
ours, theirs = pty.openpty()
if not os.isatty(theirs) or not os.ttyname(theirs).startswith('/dev/pts/'):
    print('no terminal')
os.fchmod(theirs, 0o600)
os.write(ours, b'line\n')
if os.read(theirs, 100) != b'line\n':
    print('no line')
for fd in (ours, theirs):
    refused('TIOCSTI', call(16, fd, 0x5412, b'x'))
    refused('TIOCSTI high', call(16, fd, 0x5412 | 1 << 32, b'x'))
    refused('TIOCLINUX', call(16, fd, 0x541c, b'\2'))
termios.tcsetwinsize(theirs, (30, 90))
if termios.tcgetwinsize(ours) != (30, 90):
    print('no size')
said = b''
def listen(fd):
    global said
    data = os.read(fd, 1024)
    said += data
    return b' ' if data else b''
kept = os.dup(1)
os.dup2(os.open('/dev/null', os.O_WRONLY), 1)
status = pty.spawn(['/bin/bash', '-c', 'tty; stty size; test -t 0 && '
                    'echo terminal; (echo by name > /dev/tty)'], listen)
os.dup2(kept, 1)
for word in (b'/dev/pts/', b'terminal', b'by name'):
    if word not in said:
        print(word, said)
done = subprocess.run(['script', '-qec', 'tty', '/dev/null'],
                      stdin=subprocess.DEVNULL, capture_output=True)
if b'/dev/pts/' not in done.stdout:
    print(done)
'''.replace('import fcntl, pty', '''
import termios
if not hasattr(termios, 'tcsetwinsize'): # before Python 3.11
    termios.tcsetwinsize = lambda fd, size: None
    termios.tcgetwinsize = lambda fd: (30, 90)
import fcntl, pty'''))

    def test_terminals_are_few_and_nobody_elses(self):
        other = self.stack.sandbox()
        wire = self.box.start(['python3', '-c', stack.GUARD + f'''
import pty, time
made = []
try:
    while len(made) < 1000:
        made.append(pty.openpty())
except OSError as e:
    print(len(made), flush=True)
time.sleep(60)
'''])
        wire.recv()
        kind, _, payload = wire.recv()
        self.assertEqual(kind, stack.EVENT)
        self.assertEqual(stack.get_event(payload)[2], b'%d\n' % TTYS)
        self.assertEqual(other.sh('ls -A /dev/pts').stdout, 'ptmx\n')
        done = other.sh('python3 -c "import pty; print(pty.openpty())"')
        self.assertEqual(done.code, 0, done)
        self.box.kill(wire.id)
        stack.collect(wire)
        wire.sock.close()
        other.destroy()

    def test_init_is_hidden_and_others_by_their_user(self):
        wires = {user: self.box.start(['sleep', f'{n}'], user=user)
                 for n, user in ((911, 'root'), (912, 'sandbox'))}
        for wire in wires.values():
            wire.recv()
        seen = {user: self.box.sh('ls -A /proc/1; cat /proc/[0-9]*/cmdline '
                                  '2>/dev/null | tr "\\0" " "',
                                  user=user).stdout
                for user in wires}
        self.assertNotIn('init', seen['root'] + seen['sandbox'])
        self.assertIn('sleep 911', seen['root'])
        self.assertIn('sleep 912', seen['root'])
        self.assertIn('sleep 912', seen['sandbox'])
        self.assertNotIn('sleep 911', seen['sandbox'])
        for wire in wires.values():
            self.box.kill(wire.id)
            stack.collect(wire)
            wire.sock.close()

    def test_init_is_not_dumpable(self):
        """Its files in /proc are not its own then, but its memory's root's:
        of its namespace, or of the machine, where it became init without
        another exec."""
        _, init = self.box.pids()
        own = 0x10000000 + self.box.slot() * 65536
        self.assertIn(os.stat(f'/proc/{init}/environ').st_uid, (0, own))

    def test_no_namespace_is_left_to_be_made(self):
        self.both(r'''
import glob
for path in glob.glob('/proc/sys/user/max_*_namespaces'):
    if open(path).read() != '0\n':
        print(path, open(path).read())
for name, most in (('inotify_instances', 128), ('inotify_watches', 65536),
                   ('fanotify_groups', 0)):
    have = int(open('/proc/sys/user/max_' + name).read())
    if have != most:
        print(name, have)
''')

    def test_no_crash_runs_a_handler(self):
        """A limit of 1 byte is the kernel's sign for that; see filter.c."""
        self.both(r'''
import resource, signal, struct
def core():
    return resource.getrlimit(resource.RLIMIT_CORE)
if core() != (1, 1):
    print(core())
for soft, hard in ((0, 0), (0, 1), (1 << 20, 1 << 20)):
    for high in (0, 1 << 32, 0xffffffff << 32):
        pair = struct.pack('QQ', soft, hard)
        refused('setrlimit', call(160, 4 | high, pair), 0)
        refused('prlimit', call(302, 0, 4 | high, pair, 0), 0)
        if core() != (1, 1):
            print(soft, hard, high, core())
''')
        done = self.box.sh('ulimit -c; ulimit -c 0; ulimit -n 99; ulimit -n')
        self.assertEqual((done.stdout.split()[-1], done.code), ('99', 0), done)


if __name__ == '__main__':
    stack.main()
