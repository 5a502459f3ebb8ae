"""Processes and signals: attempts that must fail (research: P1-P16)."""
import glob
import os
import time

import stack


def leaves(sandbox):
    """The cgroups of executions that are there, by the host's view."""
    return [path for top in ('/sys/fs/cgroup', '/sys/fs/cgroup/unified',
                             sandbox.stack.run + '/cgroup')
            for path in glob.glob(
                f'{top}/{sandbox.stack.name}/{sandbox.id}/e*')]


class Processes(stack.Case):
    limits = {'pids': 128}

    def test_p01_init_is_not_killed(self):
        _, init = self.box.pids()
        for user in ('root', 'sandbox'):
            self.box.run(['python3', '-c', stack.GUARD + r'''
import signal
if os.getuid() == 0:
    try:
        os.setresuid(65533, 65533, 65533)
    except OSError:
        pass
for sig in list(range(1, 65)) * 3:
    try:
        os.kill(1, sig)
    except OSError:
        pass
'''], user=user)
            self.box.sh('kill -9 1; kill -STOP 1; kill -TERM 1', user=user)
            self.box.sh('kill -STOP -1; kill -9 -1', user=user)
            self.assertTrue(stack.alive(init))
            self.assertEqual(self.box.sh('echo on').stdout, 'on\n')

    def test_p02_processes_of_the_host_are_out_of_reach(self):
        self.both(r'''
import signal
own = {int(n) for n in os.listdir('/proc') if n.isdigit()} | {1}
top = int(open('/proc/sys/kernel/pid_max').read())
for pid in range(2, min(top, 70000)):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        continue
    except PermissionError:
        pass
    if pid > 4000 and pid not in own:
        print('there is', pid)
''')

    def test_p03_init_is_not_traced_or_read(self):
        self.both(r'''
for uid in ((os.getuid(), 65533) if os.getuid() == 0 else (os.getuid(),)):
    os.setresuid(uid, uid, uid)
    for what in (16, 0x4206, 2):
        refused('ptrace', call(101, what, 1, 0, 0))
    refused('readv', call(310, 1, page, 1, page, 1, 0))
    refused('writev', call(311, 1, page, 1, page, 1, 0))
    refused('madvise', call(440, 0, page, 1, 0, 0))
    for name in ('mem', 'maps', 'environ', 'auxv', 'fd', 'fdinfo', 'root',
                 'cwd', 'exe', 'syscall', 'stack', 'ns/user', 'io', 'status'):
        refused((uid, name), opens('/proc/1/' + name), 'ENOENT', 'EACCES',
                'EPERM')
''')

    def test_p04_only_own_processes_are_seen(self):
        other = self.stack.sandbox()
        sleeper = other.start(['sleep', '917'])
        sleeper.recv()
        for user in ('root', 'sandbox'):
            seen = self.box.sh('cat /proc/[0-9]*/cmdline | tr "\\0" " "; '
                               'cat /proc/[0-9]*/comm', user=user).stdout
            for word in ('917', 'keeper', 'warren', 'nginx', 'systemd'):
                self.assertNotIn(word, seen)
        sleeper.sock.close()
        other.destroy()

    def test_p05_a_daemon_that_hides_ends_with_its_timeout(self):
        begun = time.monotonic()
        done = self.box.run(['python3', '-c', stack.GUARD + r'''
import signal, time
def hide(depth):
    for sig in range(1, 65):
        try:
            signal.signal(sig, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    if depth < 3:
        hide(depth + 1)
    while True:
        time.sleep(0.05)
        if os.fork():
            os._exit(0)
hide(0)
print('hidden', flush=True)
time.sleep(100)
'''], timeout_ms=800, grace_ms=300)
        self.assertEqual((done.reason, done.code), ('timed_out', 124), done)
        self.assertLess(time.monotonic() - begun, 5)
        stack.until(2, 'its cgroup is gone', lambda: not leaves(self.box))

    def test_p06_one_that_keeps_the_pipe_does_not_keep_the_call(self):
        begun = time.monotonic()
        done = self.box.sh('sleep 30 & echo main')
        self.assertEqual((done.stdout, done.reason), ('main\n', 'exited'))
        self.assertLess(time.monotonic() - begun, 5)
        self.box.sh('pkill -9 sleep')

    def test_p07_stopped_processes_are_destroyed(self):
        box = self.stack.sandbox()
        wire = box.start(['/bin/bash', '-c', 'sleep 50 & sleep 50 & '
                          'kill -STOP $!; kill -STOP $$'])
        wire.recv()
        time.sleep(0.2)
        _, init = box.pids()
        begun = time.monotonic()
        self.assertEqual(box.destroy(), 'none')
        self.assertLess(time.monotonic() - begun, 1)
        self.assertFalse(stack.alive(init))
        wire.sock.close()

    def test_p07_stopped_processes_end_with_their_timeout(self):
        done = self.box.sh('sleep 50 & kill -STOP $!; kill -STOP $$',
                           timeout_ms=300, grace_ms=200)
        self.assertEqual(done.reason, 'timed_out')

    def test_p08_a_process_that_waits_in_the_kernel_is_destroyed(self):
        box = self.stack.sandbox()
        box.start(['/bin/bash', '-c', 'mkfifo /tmp/f; echo x > /tmp/f']
                  ).sock.close()
        wire = box.start(['python3', '-c', 'import os\n'
                          'os.mkfifo("/tmp/g")\n'
                          'os.posix_spawn("/bin/sleep", ["sleep", "50"], {})\n'
                          'open("/tmp/g").read()'])
        wire.recv()
        time.sleep(0.3)
        begun = time.monotonic()
        self.assertEqual(box.destroy(), 'none')
        self.assertLess(time.monotonic() - begun, 1)
        wire.sock.close()

    def test_p09_a_subreaper_leaves_nothing(self):
        done = self.box.run(['python3', '-c', stack.GUARD + r'''
import signal, time
libc.prctl(36, 1, 0, 0, 0)
libc.prctl(1, 0, 0, 0, 0)
for i in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            libc.prctl(36, 1, 0, 0, 0)
            time.sleep(100)
        os._exit(0)
time.sleep(100)
'''], timeout_ms=500, grace_ms=100)
        self.assertEqual(done.reason, 'timed_out', done)
        stack.until(2, 'its cgroup is gone', lambda: not leaves(self.box))

    def test_p10_priority_is_not_raised(self):
        self.both(r'''
for policy in (1, 2):
    try:
        os.sched_setscheduler(0, policy, os.sched_param(10))
        print('policy', policy)
    except PermissionError:
        pass
try:
    os.nice(-20)
    print('nice')
except PermissionError:
    pass
refused('ioprio', call(251, 1, 0, 1 << 13))
refused('deadline', call(314, 0, (ctypes.c_ulonglong * 7)(
    48 | 6 << 32, 0, 0, 10 ** 6, 10 ** 7, 10 ** 7, 0), 0),
    'EPERM', 'EINVAL', 'EBUSY')
''')

    def test_p11_the_turn_when_memory_is_short_is_not_put_off(self):
        with open('/proc/self/status', encoding='ascii') as file:
            caps = int(file.read().split('CapEff:')[1].split()[0], 16)
        # Only with CAP_SYS_RESOURCE could the broker set what is least.
        values = ['-1000', '-17', '-1'] + ['499'] * (caps >> 24 & 1)
        self.both(r'''
for value in (arg.encode() for arg in sys.argv[1:]):
    try:
        with open('/proc/self/oom_score_adj', 'wb', buffering=0) as file:
            file.write(value)
        print('oom_score_adj', value)
    except PermissionError:
        pass
''', *values)

    def test_p12_no_namespace_is_made_but_threads_are(self):
        self.both(r'''
FLAGS = {'NS': 0x20000, 'CGROUP': 0x2000000, 'UTS': 0x4000000,
         'IPC': 0x8000000, 'USER': 0x10000000, 'PID': 0x20000000,
         'NET': 0x40000000, 'TIME': 0x80}
for name, flag in FLAGS.items():
    refused('unshare ' + name, call(272, flag))
    got = call(56, flag | 17, 0, 0, 0, 0)
    if got == 0:
        os._exit(0)
    refused('clone ' + name, got)
    refused('clone and USER ' + name,
            call(56, flag | 0x10000000 | 17, 0, 0, 0, 0))
args = (ctypes.c_ulonglong * 11)(0x10000000, 0, 0, 0, 17)
refused('clone3', call(435, args, 88), 'ENOSYS')
import threading
ran = []
t = threading.Thread(target=lambda: ran.append(1))
t.start()
t.join()
if not ran:
    print('no thread')
''')

    def test_p13_no_namespace_is_entered(self):
        self.both(r'''
for name in os.listdir('/proc/self/ns'):
    fd = opens('/proc/self/ns/' + name)
    if isinstance(fd, int):
        refused('setns ' + name, call(308, fd, 0))
    refused('of init ' + name, opens('/proc/1/ns/' + name), 'ENOENT',
            'EACCES', 'EPERM')
pidfd = call(434, 1, 0)
if isinstance(pidfd, int):
    refused('setns pidfd', call(308, pidfd, 0x20000))
''')

    def test_p14_descriptors_of_others_are_not_taken(self):
        self.both(r'''
pidfd = call(434, 1, 0)
if isinstance(pidfd, int):
    for fd in range(8):
        refused(fd, call(438, pidfd, fd, 0))
refused('own', call(438, 0, 0, 0))
''')

    def test_p15_no_capability_is_gained(self):
        allowed = sum(1 << c for c in (0, 1, 3, 4, 5, 6, 7, 31))
        script = r'''
import struct
libc.prctl(4, 1, 0, 0, 0)
for number in range(64):
    libc.prctl(47, 2, number, 0, 0)
    libc.prctl(23, number, 0, 0, 0)
libc.prctl(8, 1, 0, 0, 0)
libc.prctl(28, 0, 0, 0, 0)
head = struct.pack('<Ii', 0x20080522, 0)
call(126, head, struct.pack('<6I', *[0xffffffff] * 6))
refused('mm', call(157, 35, 1, 0, 0, 0), 'EPERM', 'EINVAL')
libc.prctl(38, 0, 0, 0, 0)
os.execv('/bin/cat', ['cat', '/proc/self/status'])
'''
        for user, most in (('root', allowed), ('sandbox', 0)):
            done = self.guest(script, user=user)
            status = dict(line.split(':', 1)
                          for line in done.stdout.splitlines())
            for name in ('CapPrm', 'CapEff', 'CapBnd', 'CapInh', 'CapAmb'):
                have = int(status[name], 16)
                self.assertEqual(have & ~most, 0, (user, name, hex(have)))
            self.assertEqual(status['NoNewPrivs'].strip(), '1')
            self.assertEqual(status['Seccomp'].strip(), '2')
            self.assertEqual(status['Groups'].strip(), '')

    def test_p16_a_crash_is_told_and_leaves_no_core(self):
        for user in ('root', 'sandbox'):
            done = self.box.sh('ulimit -c unlimited 2>/dev/null; '
                               'kill -SEGV $$', user=user, cwd='/workspace')
            self.assertEqual((done.reason, done.signal, done.code),
                             ('signalled', 11, 139), done)
        self.assertEqual(self.box.sh('ls -A /workspace').stdout, '')

    def test_a_child_stopped_before_it_runs_stops_nobody(self):
        """Between clone and exec init waits; SIGSTOP then is worth trying."""
        box = self.stack.sandbox()
        hunter = box.start(['python3', '-c', stack.GUARD + r'''
import signal
print('begun', flush=True)
last = os.getpid()
while True:
    for pid in range(last + 1, last + 6):
        try:
            os.kill(pid, signal.SIGSTOP)
            last = pid
        except ProcessLookupError:
            pass
'''])
        hunter.recv()
        hunter.recv()
        ended = 0
        for _ in range(2):
            call = box.start(['true'], timeout_ms=500, grace_ms=1)
            try:
                stack.collect(call, 45)
                ended += 1
            except stack.Refused as e:
                self.assertIn(e.code, ('limit', 'gone'))
            call.sock.close()
        box.kill(hunter.id)
        stack.collect(hunter)
        hunter.sock.close()
        self.assertEqual(box.sh('echo on').stdout, 'on\n')
        box.destroy()


if __name__ == '__main__':
    stack.main()
