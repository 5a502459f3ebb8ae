"""A sandbox that sleeps: nothing in it runs, whatever it does against that;
it goes on where it was, can be killed as it is, and outlives the broker."""
import glob
import os
import signal
import struct
import time
import unittest

import stack

# What tenants run when they are put to sleep. Each prints once it is about it.
RUNNING = {
    'spins on all cores': '''
for _ in range(4):
    if os.fork() == 0:
        while True:
            pass
print('on', flush=True)
signal.pause()
''',
    'forks without end': '''
def fork():
    try:
        return os.fork()
    except OSError:
        return -1
print('on', flush=True)
while True:
    if fork() == 0:
        fork()
        time.sleep(0.01)
        os._exit(0)
    try:
        os.waitpid(-1, os.WNOHANG)
    except OSError:
        pass
''',
    'waits in vfork for a child that does not exec': '''
os.mkfifo('/tmp/fifo')
print('on', flush=True)
os.posix_spawn('/bin/true', ['true'], {}, file_actions=[
    (os.POSIX_SPAWN_OPEN, 0, '/tmp/fifo', os.O_RDONLY, 0)])
''',
    'has stopped itself': '''
child = os.fork()
if child == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
os.waitpid(child, os.WUNTRACED)
print('on', flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
''',
    'writes to the disk and waits for it': '''
print('on', flush=True)
file = os.open('/workspace/f', os.O_CREAT | os.O_RDWR)
while True:
    os.pwrite(file, b'x' * (1 << 20), 0)
    os.fsync(file)
''',
    'has threads, timers and blocked signals': '''
import threading
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
signal.signal(signal.SIGALRM, lambda *_: None)
signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) -
                       {signal.SIGALRM, signal.SIGKILL, signal.SIGSTOP})
def turn():
    while True:
        time.sleep(0.0001)
for _ in range(20):
    threading.Thread(target=turn, daemon=True).start()
print('on', flush=True)
while True:
    time.sleep(0.001)
''',
    'sends itself and its parent signals': '''
child = os.fork()
print('on', flush=True)
while True:
    os.kill(os.getpid(), signal.SIGCONT)
    os.kill(os.getppid() if child == 0 else child, signal.SIGCONT)
''',
}
UNUSED, QUIET, ANY = range(3)
BEGIN = 'import ctypes, os, signal, time\n'


class Sleep(stack.Case):
    limits = {'pids': 64}

    def begin(self, script, kind=stack.PROCESS, **how):
        """A program in a sandbox of its own that has said 'on'."""
        box = self.stack.sandbox(**self.limits)
        self.addCleanup(box.destroy)
        wire = box.start(['python3', '-c', stack.GUARD + BEGIN + script],
                         kind=kind, cwd='/tmp', **how)
        self.addCleanup(wire.sock.close)
        while True:
            what, _, payload = wire.recv()
            if what == stack.EVENT:
                self.assertEqual(stack.get_event(payload)[1:],
                                 (stack.OUT, b'on\n'))
                return box, wire

    def state(self, box, kind=stack.KM_STATE, payload=b''):
        """(asleep, frozen, in use, unix ms of the last use)"""
        what, _, payload = box.ask(kind, payload)
        if what == stack.REFUSED:
            raise stack.Refused(payload)
        self.assertEqual(what, stack.STATE_IS)
        bits, used = struct.unpack('<Bq', payload)
        return bool(bits & 1), bool(bits & 2), bool(bits & 4), used

    def try_sleep(self, box, which=UNUSED, unused=1 << 60):
        return self.state(box, stack.KM_SLEEP,
                          struct.pack('<Bq', which, unused))

    def sleep(self, box):
        """Asleep, and nothing in it runs."""
        self.try_sleep(box, ANY)
        return stack.until(5, 'all has stopped', lambda: self.state(box)[1])

    def cpu(self, box):
        """Microseconds, as the kernel counts them."""
        # v1's controller has a file of that name, too.
        for top in ('/sys/fs/cgroup/*', '/sys/fs/cgroup',
                    self.stack.run + '/cgroup'):
            for path in glob.glob(f'{top}/{self.stack.name}/{box.id}'
                                  '/cpu.stat'):
                with open(path, encoding='ascii') as file:
                    name, value, *_ = file.read().split()
                if name == 'usage_usec':
                    return int(value)
        raise AssertionError('nobody counts its time')

    def still(self, box, seconds=0.3):
        """It uses no processor meanwhile: the last to stop may still be on
        its way off one, whoever spins uses all of it for ever."""
        def unused():
            before = self.cpu(box)
            time.sleep(seconds)
            return self.cpu(box) == before

        stack.until(5, 'it uses no processor', unused)
        self.assertTrue(unused())

    def awake(self, box):
        self.assertEqual(box.sh('echo awake').stdout, 'awake\n')
        self.assertFalse(self.state(box)[0])

    def test_nothing_that_a_tenant_does_goes_on(self):
        for what, script in RUNNING.items():
            with self.subTest(what):
                box, _ = self.begin(script)
                self.sleep(box)
                self.still(box)
                self.state(box, stack.KM_WAKE)
                self.assertFalse(self.state(box)[0])
                self.sleep(box)
                pids = box.pids()
                self.assertEqual(box.destroy(), 'none')
                for pid in pids:
                    self.assertFalse(stack.alive(pid))

    def test_what_was_stopped_goes_on(self):
        box, wire = self.begin('''
a, b = __import__('socket').socketpair()
if os.fork() == 0:
    while True:
        b.send(b.recv(1))
print('on', flush=True)
for n in range(1, 11):
    input()
    a.send(bytes([n]))
    print(a.recv(1)[0], flush=True)
''', flags=stack.ATTACH | stack.STDIN_OPEN)
        for n in range(1, 11):
            self.sleep(box)
            self.still(box, 0.02)
            box.ask(stack.KM_STDIN, stack.text(wire.id) +
                    stack.text(b'\n') + b'\0')
            while True:
                what, _, payload = wire.recv()
                if what == stack.EVENT:
                    break
            self.assertEqual(stack.get_event(payload)[2],
                             f'{n}\n'.encode())

    def test_what_needs_it_wakes_it_and_what_reads_does_not(self):
        box, wire = self.begin('print("on", flush=True)\nsignal.pause()',
                               flags=stack.ATTACH | stack.STDIN_OPEN)
        x = stack.text(wire.id)
        reads = ((stack.KM_STATE, b''), (stack.KM_STATUS, x),
                 (stack.KM_LIST, b''), (stack.KM_PING, b''),
                 (15, b''), (18, b''), (23, b''),
                 (stack.KM_ATTACH, x + struct.pack('<QB', 0, 0)))
        wakes = ((stack.KM_WAKE, b''),
                 (stack.KM_SIGNAL, x + struct.pack('<IB', 18, 0)),
                 (stack.KM_STDIN, x + stack.text(b'y') + b'\0'),
                 (stack.KM_START, stack.put_start('q', ['true'])),
                 (stack.KM_KILL, x + struct.pack('<IB', 0, 7)))
        for kind, payload in wakes:
            self.sleep(box)
            for read, with_ in reads:
                self.assertNotEqual(box.ask(read, with_)[0], stack.REFUSED)
            self.assertEqual(self.state(box)[:2], (True, True))
            self.assertNotEqual(box.ask(kind, payload)[0], stack.REFUSED)
            self.assertFalse(self.state(box)[0], kind)

    def test_only_what_is_not_used_is_put_to_sleep_unasked(self):
        box, wire = self.begin('print("on", flush=True)\nsignal.pause()')
        # Somebody reads what it prints.
        with self.assertRaises(stack.Refused) as refused:
            self.try_sleep(box)
        self.assertEqual(refused.exception.code, 'state')
        self.assertTrue(self.state(box)[2])
        # Who asks for it does not mind.
        self.assertTrue(self.try_sleep(box, QUIET)[0])
        self.state(box, stack.KM_WAKE)
        wire.sock.close()
        stack.until(5, 'nobody reads', lambda: not self.state(box)[2])
        used = self.state(box)[3]
        with self.assertRaises(stack.Refused):
            self.try_sleep(box, unused=used - 1)
        # A background process that runs does not count.
        self.assertTrue(self.try_sleep(box, unused=used)[0])
        # A call does, from its connection on, and so does what it started.
        with box.keeper() as call:
            kind, _, payload = call.ask(stack.KM_WAKE)
            self.assertEqual((kind, payload[0] & 1), (stack.STATE_IS, 1))
            with self.assertRaises(stack.Refused):
                self.try_sleep(box)
        stack.until(5, 'the call is over', lambda: not self.state(box)[2])
        with box.start(['sleep', '1000'], flags=0) as call:
            self.assertEqual(call.recv()[0], stack.STARTED)
            id_ = call.id
        for which in (UNUSED, QUIET):
            with self.assertRaises(stack.Refused):
                self.try_sleep(box, which)
        box.kill(id_)
        stack.until(5, 'it is not in use', lambda: not self.state(box)[2])
        self.assertTrue(self.try_sleep(box)[0])

    def test_time_limits_wait_until_it_wakes(self):
        box = self.stack.sandbox()
        self.addCleanup(box.destroy)
        with box.start(['sleep', '1'], timeout_ms=4000) as call:
            self.assertEqual(call.recv()[0], stack.STARTED)
            self.sleep(box)
            time.sleep(5)
            self.assertEqual(self.state(box)[:2], (True, True))
            self.state(box, stack.KM_WAKE)
            self.assertEqual(stack.collect(call).reason, 'exited')
        # One whose time is up once it is awake is ended then.
        with box.start(['sleep', '1000'], timeout_ms=1500) as call:
            self.assertEqual(call.recv()[0], stack.STARTED)
            self.sleep(box)
            self.state(box, stack.KM_WAKE)
            self.assertEqual(stack.collect(call).reason, 'timed_out')

    def test_a_caller_that_leaves_has_its_command_ended(self):
        box = self.stack.sandbox()
        self.addCleanup(box.destroy)
        with box.start(['sleep', '1000'],
                       flags=stack.ATTACH | stack.KILL_ON_CLOSE) as call:
            self.assertEqual(call.recv()[0], stack.STARTED)
            self.sleep(box)
        stack.until(5, 'it is ended', lambda: not self.state(box)[2])
        self.awake(box)

    def test_a_new_broker_has_it_as_it_was(self):
        box, _ = self.begin(RUNNING['spins on all cores'])
        self.sleep(box)
        before = box.pids()
        self.stack.kill()
        self.assertEqual(self.state(box)[:2], (True, True))
        self.stack.start()
        self.still(box)
        self.assertEqual(self.stack.broker(stack.START, box.id), 'none')
        self.assertEqual(self.state(box)[:2], (True, True))
        self.awake(box)
        self.assertEqual(box.pids(), before)

    def test_one_that_sleeps_is_stopped_and_one_that_woke_is_not(self):
        if_asleep = bytes(20) + struct.pack('<I', 2)  # flags, in rest
        box, _ = self.begin(RUNNING['spins on all cores'])

        def stop():
            with self.stack.connect() as sock:
                sock.send(self.stack.request(stack.STOP, box.id,
                                             rest=if_asleep))
                return stack.ERRORS[struct.unpack('<IIQII',
                                                  sock.recv(100))[3]]

        self.assertEqual(stop(), 'state')
        self.awake(box)
        box.sh('echo kept > /workspace/kept')
        self.sleep(box)
        pids = box.pids()
        self.assertEqual(stop(), 'none')
        for pid in pids:
            self.assertFalse(stack.alive(pid))
        self.assertEqual(self.stack.broker(stack.START, box.id), 'none')
        self.assertEqual(box.sh('cat /workspace/kept').stdout, 'kept\n')

    def test_what_is_killed_in_its_sleep_is_told_and_starts_again(self):
        for which in (0, 1):
            box, wire = self.begin(RUNNING['spins on all cores'])
            self.sleep(box)
            os.kill(box.pids()[which], signal.SIGKILL)
            if which == 1:
                self.assertEqual(stack.collect(wire).reason, 'sandbox_gone')
            else:
                self.assertTrue(wire.closed())
            stack.until(5, 'it starts again', lambda box=box:
                        self.stack.broker(stack.START, box.id) == 'none' and
                        box.sh('echo again').stdout == 'again\n')

    def test_many_sleeps_and_wakes_at_once_end_in_either(self):
        box, _ = self.begin(RUNNING['spins on all cores'])
        wires = [box.keeper() for _ in range(20)]
        for turn in range(20):
            for n, wire in enumerate(wires):
                sleeps = (n + turn) % 2 == 0
                wire.send(stack.KM_SLEEP if sleeps else stack.KM_WAKE, 9,
                          struct.pack('<Bq', ANY, 0) if sleeps else b'')
            for wire in wires:
                self.assertEqual(wire.recv()[0], stack.STATE_IS)
        for wire in wires:
            wire.sock.close()
        self.awake(box)
        self.sleep(box)
        self.still(box)


if __name__ == '__main__':
    stack.main()
