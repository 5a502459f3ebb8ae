"""File system: attempts that must fail (research: F1-F23)."""
import hashlib
import os
import time

import stack


def checksum(path):
    with open(path, 'rb') as file:
        return hashlib.sha256(file.read()).hexdigest()


class Files(stack.Case):
    def test_f01_nothing_of_the_host_is_read(self):
        self.both(r'''
for path in ('/etc/shadow-', '/etc/ssh/ssh_host_rsa_key', '/root/.ssh',
             '/etc/ssh/ssh_host_ed25519_key', '/etc/ssl/private/x',
             '/var/lib/warren', '/run/warren', '/boot', '/lib/modules/x'):
    refused(path, opens(path), 'ENOENT', 'EACCES')
for dir_, dirs, files in os.walk('/var/log'):
    if files:
        print(dir_, files)
for path in ('/etc/shadow', '/etc/gshadow'):
    try:
        with open(path) as file:
            print(''.join(line for line in file
                          if line.split(':')[1] != '*'), end='')
    except PermissionError:
        pass
for path in ('/home', '/root', '/srv', '/run'):
    try:
        got = set(os.listdir(path)) - {'sandbox'}
    except PermissionError:
        continue
    if got:
        print(path, got)
''')

    def test_f02_mountinfo_names_no_place_of_the_host(self):
        for user in ('root', 'sandbox'):
            seen = self.box.sh('cat /proc/self/mountinfo /proc/mounts',
                               user=user).stdout
            self.assertIn(' / / ', seen)
            for word in (self.box.id, self.stack.data, self.stack.name,
                         '/var/lib', 'sandboxes', 'images', '/home'):
                self.assertNotIn(word, seen)

    def test_f03_masks_cannot_be_taken_off(self):
        self.both(r'''
for path in (b'/proc/kallsyms', b'/proc/kcore', b'/proc/sys', b'/proc',
             b'/dev/null', b'/dev', b'/tmp', b'/usr', b'/'):
    for flags in (0, 2, 8):
        refused(path, call(166, path, flags), 'EPERM', 'EINVAL')
''')

    def test_f04_nothing_is_remounted(self):
        self.both(r'''
REMOUNT, BIND, REC, PRIVATE, SHARED = 32, 4096, 16384, 1 << 18, 1 << 20
for path in (b'/proc/sys', b'/proc', b'/', b'/dev', b'/usr', b'/tmp'):
    for flags in (REMOUNT, REMOUNT | BIND, REMOUNT | BIND | 1, BIND,
                  BIND | REC, PRIVATE, SHARED):
        refused((path, flags), call(165, b'none', path, None, flags, None))
''')

    def test_f05_nothing_is_mounted(self):
        self.both(r'''
os.makedirs('/tmp/p', exist_ok=True)
for kind in (b'proc', b'tmpfs', b'overlay', b'sysfs', b'devtmpfs', b'cgroup2',
             b'mqueue', b'ext4', b'fuse', b'bpf', b'binfmt_misc', b'ramfs'):
    refused(kind, call(165, b'none', b'/tmp/p', kind, 0, None))
''')

    def test_f06_the_new_mount_calls_are_refused(self):
        self.both(r'''
for name, number, *args in (
        ('fsopen', 430, b'ext4', 0), ('open_tree', 428, -100, b'/', 1),
        ('move_mount', 429, -100, b'/tmp', -100, b'/proc', 0),
        ('fsconfig', 431, 0, 0, b'a', b'b', 0), ('fsmount', 432, 0, 0, 0),
        ('fspick', 433, -100, b'/', 0),
        ('mount_setattr', 442, -100, b'/', 0, page, 32),
        ('statmount', 457, page, page, 512, 0),
        ('listmount', 458, page, page, 8, 0),
        ('open_tree_attr', 467, -100, b'/', 1, page, 32)):
    refused(name, call(number, *args), 'EPERM', 'ENOSYS')
''')

    def test_f07_no_device_is_made_but_a_fifo_is(self):
        self.both(r'''
import stat
for name, mode, dev in (('sda', stat.S_IFBLK, os.makedev(254, 0)),
                        ('mem', stat.S_IFCHR, os.makedev(1, 1)),
                        ('null', stat.S_IFCHR, os.makedev(1, 3))):
    for place in ('/tmp/', '/dev/', '/dev/shm/', os.getcwd() + '/'):
        try:
            os.mknod(place + name + str(os.getuid()), mode | 0o600, dev)
            print(place, name, 'was made')
        except OSError as e:
            refused((place, name), errno.errorcode[e.errno],
                    'EPERM', 'EACCES', 'EEXIST')
os.mkfifo('/tmp/fifo%d' % os.getuid())
''')

    def test_f08_no_device_of_the_host_is_there(self):
        self.both(r'''
for name in ('vda', 'sda', 'kvm', 'fuse', 'loop0', 'loop-control', 'mem',
             'kmsg', 'port', 'net/tun', 'console', 'tty', 'ptmx', 'vsock',
             'vhost-net', 'mapper/control', 'cpu/0/msr', 'hwrng', 'rtc0'):
    refused(name, opens('/dev/' + name), 'ENOENT')
''')

    def test_f09_there_is_no_way_out_of_the_root(self):
        self.both(r'''
os.makedirs('/tmp/jail%d' % os.getuid(), exist_ok=True)
kept = os.open('/', os.O_RDONLY)
refused('chroot', call(161, b'/tmp'), 'EPERM')
os.fchdir(kept)
for i in range(100):
    os.chdir('..')
for path in ('.', '../../..', '/proc/self/root', '/proc/self/cwd/..'):
    s, r = os.stat(path), os.stat('/')
    if (s.st_dev, s.st_ino) != (r.st_dev, r.st_ino):
        print(path, 'is elsewhere')
if os.path.exists('/var/lib/dpkg/lock'):
    print('the root of the machine')
''')

    def test_f10_handles_of_files_are_refused(self):
        self.both(r'''
import struct
handle = struct.pack('IiII', 8, 1, 2, 0)
root = os.open('/', os.O_RDONLY)
refused('open', call(304, root, handle, 0))
refused('name', call(303, -100, b'/', page, page, 0), 'EPERM')
''')

    def test_f11_a_setuid_program_gives_no_id(self):
        self.box.sh('cp /usr/bin/id /usr/local/bin/suid; '
                    'cp /usr/bin/id /workspace/suid; '
                    'chmod 6755 /usr/local/bin/suid /workspace/suid')
        for path in ('/usr/local/bin/suid', '/workspace/suid'):
            done = self.box.sh(f'{path} -u; {path} -g', user='sandbox')
            self.assertEqual(done.stdout, '1000\n1000\n', done)

    def test_f12_capabilities_of_files_give_none(self):
        done = self.guest(r'''
import shutil, struct
shutil.copy('/usr/bin/cat', '/workspace/capcat')
os.chmod('/workspace/capcat', 0o755)
caps = struct.pack('<IIIII', 0x02000001, 0xffffffff, 0, 0x1ff, 0)
try:
    os.setxattr('/workspace/capcat', 'security.capability', caps)
except OSError as e:
    pass
''')
        self.assertEqual(done.code, 0, done)
        done = self.box.sh('/workspace/capcat /proc/self/status',
                           user='sandbox')
        for line in done.stdout.splitlines():
            if line.startswith('Cap'):
                self.assertEqual(int(line.split()[1], 16), 0, line)

    def test_f13_the_programs_outside_are_not_written(self):
        programs = [f'{stack.BIN}/warren-init', '/usr/bin/python3',
                    f'{stack.BIN}/warren-keeper']
        before = [checksum(path) for path in programs]
        self.both(r'''
for path in ('/proc/1/exe', '/proc/1/root/etc/passwd', '/proc/1/mem',
             '/proc/1/fd/3', '/proc/1/cwd/x'):
    for flags in (os.O_RDONLY, os.O_RDWR):
        refused((path, flags), opens(path, flags), 'ENOENT', 'EACCES', 'EPERM')
refused('self', opens('/proc/self/exe', os.O_WRONLY), 'ETXTBSY', 'EACCES')
# The file executor is init's own program: catch it at work.
import glob, time
end = time.monotonic() + 1.5
while time.monotonic() < end:
    for exe in glob.glob('/proc/[0-9]*/exe'):
        try:
            if 'warren-init' in os.readlink(exe):
                print('seen', exe, opens(exe, os.O_RDWR))
        except OSError:
            pass
''')
        self.assertEqual([checksum(path) for path in programs], before)

    def test_f13_the_file_executor_is_not_caught(self):
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

    def test_f14_a_program_has_its_three_descriptors(self):
        for user in ('root', 'sandbox'):
            done = self.box.run(['python3', '-c', 'import os; '
                                 'print(sorted(os.listdir("/proc/self/fd")))'],
                                user=user)
            self.assertEqual(done.stdout, "['0', '1', '2', '3']\n")

    def test_f17_removing_everything_harms_this_sandbox_alone(self):
        other = self.stack.sandbox()
        usr = os.listdir('/usr/bin')
        victim = self.stack.sandbox()
        victim.sh('rm -rf --no-preserve-root /etc /opt /usr/bin /usr/lib/git* /'
                  ' 2>/dev/null', timeout_ms=4000, grace_ms=1)
        self.assertEqual(other.sh('ls /usr/bin | wc -l; python3 -c "print(1)"'
                                  ).stdout.split()[-1], '1')
        self.assertLessEqual(set(usr), set(os.listdir('/usr/bin')))
        fresh = self.stack.sandbox()
        self.assertEqual(fresh.sh('echo fine').stdout, 'fine\n')
        for sandbox in (victim, fresh, other):
            self.assertEqual(sandbox.destroy(), 'none')

    def test_f17_a_sandbox_without_a_tree_can_be_started_again(self):
        victim = self.stack.sandbox()
        victim.sh('rm -rf /etc /opt /var /root /home /workspace /srv; '
                  'ln -s /etc/shadow /etc; ln -s / /workspace; true')
        self.assertEqual(self.stack.broker(stack.STOP, victim.id), 'none')
        again = self.stack.sandbox(victim.id)
        self.assertEqual(again.sh('echo back', cwd='/').stdout, 'back\n')
        again.destroy()

    def test_f18_whiteouts_hide_from_nobody_else(self):
        other = self.stack.sandbox()
        victim = self.stack.sandbox()
        victim.sh('rm -rf /usr/lib/python3*/json /opt/warren/kernels')
        self.assertEqual(other.sh(
            'ls -d /usr/lib/python3*/json /opt/warren/kernels').code, 0)
        other.destroy()
        victim.destroy()

    def test_f19_layers_are_not_reached_by_name(self):
        self.both(r'''
for path in ('/proc/self/fd/4', '/root/upper', '/upper', '/usr/upper',
             '/run/sbx', '/work', '/files'):
    refused(path, opens(path), 'ENOENT', 'EACCES')
''')

    def test_f20_locks_are_no_channel_between_sandboxes(self):
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

    def test_f21_absurd_sizes_are_refused(self):
        self.both(r'''
fd = os.open('/tmp/big%d' % os.getuid(), os.O_CREAT | os.O_RDWR)
for size in (1 << 63, (1 << 63) - 1, 1 << 60):
    try:
        os.ftruncate(fd, size)
    except (OSError, OverflowError):
        continue
    if os.fstat(fd).st_blocks != 0:
        print('truncate to', size, 'took room')
os.ftruncate(fd, 0)
fd = os.open('/workspace/big%d' % os.getuid(), os.O_CREAT | os.O_RDWR)
try:
    os.ftruncate(fd, (1 << 63) - 1)
    print('truncate on disk')
except OSError as e:
    refused('disk', errno.errorcode[e.errno], 'EFBIG', 'EINVAL', 'ENOSPC')
s = os.statvfs('/tmp')
if not 0 < s.f_bavail <= s.f_blocks < 1 << 40:
    print('statvfs', s)
''')

    def test_f22_attributes_that_mean_power_are_refused(self):
        self.both(r'''
path = '/tmp/attr%d' % os.getuid()
upper = '/workspace/attr%d' % os.getuid()
for where in (path, upper):
    open(where, 'w').close()
    for name in ('trusted.overlay.opaque', 'trusted.overlay.redirect',
                 'trusted.x', 'security.ima'):
        try:
            os.setxattr(where, name, b'y')
            print(where, name)
        except OSError as e:
            refused(name, errno.errorcode[e.errno],
                    'EPERM', 'EOPNOTSUPP', 'EACCES')
count = 0
try:
    for i in range(1000):
        os.setxattr(upper, 'user.n%d' % i, b'x' * 65000)
        count += 1
except OSError as e:
    refused('user', errno.errorcode[e.errno], 'ENOSPC', 'E2BIG',
            'EOPNOTSUPP', 'ERANGE')
if count > 100:
    print('no limit', count)
''')

    def test_f23_a_namespace_of_ones_own_is_refused(self):
        for user in ('root', 'sandbox'):
            for flags in ('-Urm', '-m', '-U', '-r', '-n', '-p', '-i', '-u',
                          '-C', '-T'):
                done = self.box.sh(f'unshare {flags} true', user=user)
                self.assertNotEqual(done.code, 0, flags)


if __name__ == '__main__':
    stack.main()
