"""Refused system calls that init is asked about and counts: it cannot be kept
from its work by them, and nothing is ever let through."""
import os
import re
import struct
import time

import stack

KM_CALLS, CALLS_ARE = 23, 0x8e
DEF = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', '..',
                   'base', 'call_denial.def')
with open(DEF, encoding='utf-8') as file:
    NAMES = re.findall(r'^CALL\((\w+)\)', file.read(), re.M)


def counts(box):
    """{name: how often} as the keeper tells it."""
    kind, _, data = box.ask(KM_CALLS)
    assert kind == CALLS_ARE, kind
    found = {}
    for i in range(data[0]):
        which, count, last = struct.unpack_from('<BIq', data, 1 + 13 * i)
        assert abs(time.time() * 1000 - last) < 3600e3, last
        found[NAMES[which]] = count
    return found


def cpu_of(pid):
    with open(f'/proc/{pid}/stat', encoding='latin-1') as file:
        words = file.read().rsplit(')', 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')


class Calls(stack.Case):
    def counted(self, box, **want):
        stack.until(5, f'{want} in {counts(box)}', lambda: all(
            counts(box).get(name) == n for name, n in want.items()))

    def test_each_is_refused_and_counted(self):
        box = self.stack.sandbox()
        numbers = {'unshare': 272, 'mount': 165, 'umount2': 166, 'setns': 308,
                   'ptrace': 101, 'bpf': 321, 'keyctl': 250,
                   'pivot_root': 155, 'userfaultfd': 323, 'clone': 56}
        script = 'times = int(sys.argv[1])\nfor _ in range(times):\n' + \
            ''.join(f'    refused({name!r}, call({number}, '
                    f'{"0x10000011" if name == "clone" else "0"}, 0, 0, 0, 0))'
                    '\n' for name, number in numbers.items())
        for times, user in ((3, 'root'), (2, 'sandbox')):
            done = self.guest(script, str(times), user=user, sandbox=box)
            self.assertEqual((done.code, done.stdout), (0, ''), done)
        self.counted(box, **dict.fromkeys(numbers, 5))
        self.assertEqual(set(counts(box)), set(numbers))
        self.assertEqual(self.stack.sandbox().ask(KM_CALLS)[2], b'\0')
        box.destroy()

    def test_ordinary_programs_make_none(self):
        box = self.stack.sandbox()
        box.sh('python3 -c "import threading, ssl, subprocess; '
               'subprocess.run([\'true\'])"; node -e 1; git --version; '
               'tar --version; perl -e 1; find / -xdev >/dev/null')
        time.sleep(0.2)
        self.assertEqual(counts(box), {})
        box.destroy()

    def test_a_flood_costs_its_maker_only(self):
        box = self.stack.sandbox()
        keeper, init = box.pids()
        before = cpu_of(keeper)
        wire = box.start(['python3', '-c', stack.GUARD + r'''
import time
end, made = time.monotonic() + 3, []
for _ in range(8):
    r, w = os.pipe()
    if os.fork() == 0:
        n = 0
        while time.monotonic() < end:
            if call(165, b'none', b'/tmp', b'tmpfs', 0, 0) != 'EPERM':
                n = -1 << 40
            n += 1
        os.write(w, str(n).encode())
        os._exit(0)
    made.append(r)
total = sum(int(os.read(r, 64)) for r in made)
print(total)
'''], timeout_ms=20000)
        slowest = 0
        for _ in range(10):
            begun = time.monotonic()
            self.assertEqual(box.sh('echo on').stdout, 'on\n')
            slowest = max(slowest, time.monotonic() - begun)
            time.sleep(0.1)
        done = stack.collect(wire)
        wire.sock.close()
        self.assertGreater(int(done.stdout), 100, done)
        self.counted(box, mount=int(done.stdout))
        # Told a few times a second, however many there are.
        self.assertLess(cpu_of(keeper) - before, 1)
        self.assertLess(slowest, 10)
        self.assertTrue(stack.alive(init))
        box.destroy()

    def test_a_caller_that_is_killed_meanwhile_harms_nobody(self):
        box = self.stack.sandbox()
        done = self.guest(r'''
import signal, time
for i in range(60):
    pid = os.fork()
    if pid == 0:
        while True:
            call(165, b'none', b'/tmp', b'tmpfs', 0, 0)
    time.sleep(0.002 * (i % 5))
    os.kill(pid, signal.SIGSTOP if i % 3 == 0 else signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
# Signals while it waits: refused, or to be made again.
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
end = time.monotonic() + 1
while time.monotonic() < end:
    refused('mount', call(165, b'none', b'/tmp', b'tmpfs', 0, 0), 'EPERM',
            'EINTR')
signal.setitimer(signal.ITIMER_REAL, 0)
''', sandbox=box)
        self.assertEqual((done.code, done.stdout), (0, ''), done)
        self.assertEqual(box.sh('echo on').stdout, 'on\n')
        box.destroy()

    def test_own_filters_let_nothing_through(self):
        self.both(r'''
import struct
kept = []
def load(flags, *insns):
    code = ctypes.create_string_buffer(
        b''.join(struct.pack('HBBI', *i) for i in insns))
    prog = struct.pack('HxxxxxxP', len(insns), ctypes.addressof(code))
    kept.append((code, prog))
    return call(317, 1, flags, prog)
mount = (0x15, 0, 1, 165)
load_nr, allow = (0x20, 0, 0, 0), (6, 0, 0, 0x7fff0000)
def notified():
    # Its own wish to be asked, without a listener: the kernel says ENOSYS.
    load(0, load_nr, mount, (6, 0, 0, 0x7fc00000), allow)
    refused('notify', call(165, b'none', b'/tmp', b'tmpfs', 0, 0), 'ENOSYS')
def traced():
    load(0, load_nr, mount, (6, 0, 0, 0x7ff00000), allow)
    refused('trace', call(165, b'none', b'/tmp', b'tmpfs', 0, 0))
def allowed():
    load(0, allow)
    refused('allow', call(165, b'none', b'/tmp', b'tmpfs', 0, 0))
def listening():
    # A second listener in one chain is none.
    refused('listener', load(8, load_nr, mount, (6, 0, 0, 0x7fc00000), allow),
            'EBUSY')
    refused('after', call(165, b'none', b'/tmp', b'tmpfs', 0, 0))
def stricter():
    load(0, load_nr, mount, (6, 0, 0, 0x50000 | 38), allow)
    refused('errno', call(165, b'none', b'/tmp', b'tmpfs', 0, 0), 'ENOSYS')
for fn in (notified, traced, allowed, listening, stricter):
    if apart(fn) != 0:
        print(fn.__name__)
''')

    def test_nobody_but_init_has_the_listener(self):
        _, init = self.box.pids()
        found = {name: os.readlink(f'/proc/{init}/fd/{name}')
                 for name in os.listdir(f'/proc/{init}/fd')}
        self.assertEqual(found['5'], 'anon_inode:seccomp notify')
        self.both(r'''
for pid in filter(str.isdigit, os.listdir('/proc')):
    try:
        for fd in os.listdir(f'/proc/{pid}/fd'):
            if 'seccomp' in os.readlink(f'/proc/{pid}/fd/{fd}'):
                print(pid, fd)
    except OSError:
        pass
''')


if __name__ == '__main__':
    stack.main()
