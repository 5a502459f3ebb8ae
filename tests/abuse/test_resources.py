"""Resources: floods that must stay inside (research: R1-R12, R26)."""
import os
import time

import stack

PIDS = 64
MEMORY = 192 * stack.MIB


def fds_of(pid):
    return len(os.listdir(f'/proc/{pid}/fd'))


class Resources(stack.Case):
    limits = {'pids': PIDS, 'memory': MEMORY}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other = cls.stack.sandbox(pids=PIDS, memory=MEMORY)

    def tearDown(self):
        super().tearDown()
        begun = time.monotonic()
        self.assertEqual(self.other.sh('echo fine').stdout, 'fine\n')
        self.assertLess(time.monotonic() - begun, 3)

    def bomb(self, script, user, *args, timeout_ms=4000):
        """A guest that prints what it came to; its end is bounded."""
        return self.box.run(['python3', '-c', stack.GUARD + script, *args],
                            user=user, timeout_ms=timeout_ms, grace_ms=200)

    def test_r01_a_fork_bomb_stops_at_the_limit(self):
        for user in ('root', 'sandbox'):
            begun = time.monotonic()
            done = self.box.sh('f() { f | f & }; f; sleep 50', user=user,
                               timeout_ms=700, grace_ms=200)
            self.assertEqual(done.reason, 'timed_out')
            self.assertLess(time.monotonic() - begun, 8)

    def test_r01_other_programs_are_refused_while_it_lasts(self):
        bomb = self.box.start(['python3', '-c', stack.GUARD + r'''
import signal, time
made = 0
while True:
    try:
        if os.fork() == 0:
            time.sleep(100)
            os._exit(0)
        made += 1
    except OSError as e:
        break
print(made, flush=True)
time.sleep(100)
'''])
        bomb.recv()
        kind, _, payload = bomb.recv()
        self.assertEqual(kind, stack.EVENT)
        self.assertLess(int(stack.get_event(payload)[2]), PIDS)
        with self.assertRaises(stack.Refused) as e:
            self.box.sh('true')
        self.assertEqual(e.exception.code, 'limit')
        self.box.kill(bomb.id)
        self.assertEqual(stack.collect(bomb).reason, 'killed')
        bomb.sock.close()

    def test_r02_zombies_and_threads_stop_at_the_limit(self):
        for user in ('root', 'sandbox'):
            done = self.bomb(r'''
made = 0
try:
    while made < 5000:
        if os.fork() == 0:
            os._exit(0)
        made += 1
except OSError as e:
    print(made, errno.errorcode[e.errno])
''', user)
            made, why = done.stdout.split()
            self.assertEqual(why, 'EAGAIN')
            self.assertLess(int(made), PIDS)
            done = self.bomb(r'''
import threading
made = 0
try:
    while made < 5000:
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        made += 1
except RuntimeError:
    print(made, flush=True)
os._exit(0)
''', user)
            self.assertLess(int(done.stdout), PIDS, done)

    def test_r04_a_memory_bomb_ends_itself_alone(self):
        for user in ('root', 'sandbox'):
            done = self.bomb('x = b"x" * (1 << 30)', user, timeout_ms=15000)
            self.assertEqual((done.reason, done.code),
                             ('out_of_memory', 137), done)

    def test_r05_memory_by_other_ways_is_counted(self):
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
                    box = self.stack.sandbox(pids=PIDS, memory=MEMORY)
                    done = box.run(
                        ['python3', '-c', stack.GUARD + script], user=user,
                        timeout_ms=8000, grace_ms=100)
                    self.assertIn(done.reason, (
                        'out_of_memory', 'exited', 'timed_out',
                        'sandbox_gone'), done)
                    self.assertEqual(done.stdout, '')
                    box.destroy()

    def test_r06_tmp_has_its_size_and_number_of_files(self):
        for user in ('root', 'sandbox'):
            done = self.bomb(r'''
os.mkdir('/tmp/many%d' % os.getuid())
made = 0
try:
    while made < 200000:
        os.close(os.open('/tmp/many%d/%d' % (os.getuid(), made),
                         os.O_CREAT | os.O_WRONLY))
        made += 1
except OSError as e:
    print(made, errno.errorcode[e.errno])
''', user, timeout_ms=20000)
            self.box.sh('rm -rf /tmp/many*', user=user)
            self.assertIn('ENOSPC', done.stdout, done)

    def test_r09_descriptors_are_limited(self):
        before = fds_of(self.stack.process.pid)
        for user in ('root', 'sandbox'):
            done = self.bomb(r'''
import socket
made = 0
try:
    while made < 200000:
        os.dup(1)
        made += 1
except OSError as e:
    print(made, errno.errorcode[e.errno])
''', user)
            made, why = done.stdout.split()
            self.assertEqual(why, 'EMFILE')
            self.assertLessEqual(int(made), 65536)
        self.assertEqual(fds_of(self.stack.process.pid), before)

    def test_r09_descriptors_in_flight_are_limited(self):
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

    def test_r10_what_one_takes_another_still_has(self):
        """Counts that a user namespace has in common with its maker."""
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
                self.assertGreater(first, 0)
                self.assertGreaterEqual(int(done.stdout), first, done)

    def test_r11_waiting_things_are_limited(self):
        for user in ('root', 'sandbox'):
            done = self.bomb(r'''
for number, *args in ((291, 0), (283, 1, 0), (290, 0, 0)):
    made = 0
    while made < 100000:
        got = call(number, *args)
        if isinstance(got, str):
            refused(number, got, 'EMFILE')
            break
        made += 1
    if made > 65536:
        print(number, made)
    os.closerange(3, 70000)
''', user, timeout_ms=15000)
            self.assertEqual(done.stdout, '', done)

    def test_r12_a_flood_of_output_stays_in_its_ring(self):
        keeper, _ = self.box.pids()
        for command in ('yes', 'yes >&2',
                        'exec python3 -uc "import os\nwhile 1: '
                        'os.write(1, b\'x\')"'):
            wire = self.box.start(['/bin/bash', '-c', command], flags=0,
                                  timeout_ms=1500, grace_ms=100)
            wire.recv()
            for _ in range(10):
                time.sleep(0.1)
                begun = time.monotonic()
                self.assertEqual(self.box.ask(stack.KM_PING)[0], stack.OK)
                self.assertLess(time.monotonic() - begun, 1)
            self.assertLess(stack.memory_of(keeper), 64 * stack.MIB)
            stack.until(8, 'it ends', lambda: self.box.ask(
                stack.KM_STATUS, stack.text(wire.id))[2][
                    4 + len(wire.id) + 1 + 1] == 3)
            wire.sock.close()

    def test_r12_a_reader_that_stops_does_not_stop_the_rest(self):
        wire = self.box.start(['/bin/bash', '-c', 'yes | head -c 40000000'])
        wire.recv()
        time.sleep(0.5)
        self.assertEqual(self.box.sh('echo other').stdout, 'other\n')
        wire.sock.close()

    def test_r12_ended_executions_do_not_pile_up(self):
        """What 100 calls printed is not kept outside for ever."""
        keeper, _ = self.box.pids()
        for _ in range(100):
            self.box.sh('head -c 1000000 /dev/zero | tr "\\0" x')
        stack.until(5, 'the logs are dropped',
                    lambda: stack.memory_of(keeper) < 48 * stack.MIB)

    def test_many_starts_at_once_all_run(self):
        """More than one link can carry at a time, with long commands."""
        calls = [self.box.start(['/bin/echo', 'x' * 120000])
                 for _ in range(40)]
        for call in calls:
            self.assertEqual(stack.collect(call).out_bytes, 120001)
            call.sock.close()


if __name__ == '__main__':
    stack.main()
