"""A keeper and the program behind a context, which lies."""
import os
import socket
import struct
import time
import unittest

import lone
import stack

XM_RUN, XM_ACK, XM_INTERRUPT = 0x40, 0x41, 0x43
READY, RESULT, ERROR, DONE = 0x50, 0x51, 0x53, 0x54
EVERY = 16 << 10


class KeeperKernel(unittest.TestCase):
    def setUp(self):
        self.keeper = lone.LoneKeeper()
        self.addCleanup(self.keeper.close)
        self.init = self.keeper.init
        self.begin('k')

    def begin(self, id_):
        """A context whose kernel is the test."""
        self.wire = self.keeper.start(id_, kind=stack.KERNEL)
        self.tag, fds = self.init.take()
        self.assertEqual(len(fds), 4)
        self.fds = fds[:3]
        self.kernel = stack.Wire(socket.socket(fileno=fds[3]))
        self.assertEqual(self.wire.recv()[0], stack.STARTED)
        self.addCleanup(self.kernel.sock.close)

    def run_(self, id_, flags=stack.ATTACH, timeout_ms=0, ring=0, of='k',
             json='{}'):
        wire = self.keeper.client()
        wire.id = id_
        wire.send(stack.KM_RUN, 1, stack.text(of) + stack.text(id_) +
                  struct.pack('<IQQ', flags, timeout_ms, ring) +
                  stack.text(json))
        self.assertEqual(wire.recv()[0], stack.STARTED)
        return wire

    def next_run(self):
        while True:
            kind, tag, _ = self.kernel.recv()
            if kind == XM_RUN:
                return tag

    def kernel_dies(self):
        """Init confirms the kill that the keeper asks for."""
        while True:
            _, tag, payload, _ = self.init.next(lone.SIGNAL)
            if tag == self.tag and payload[0] == 9:
                break
        for fd in self.fds:
            os.close(fd)
        self.kernel.sock.close()
        self.init.exited(self.tag, 9, 1)

    def assert_killed(self, run):
        """The run ends once, its state is lost, the kernel is killed."""
        self.kernel_dies()
        ended = stack.collect(run)
        self.assertTrue(ended.lost)
        with self.assertRaises(TimeoutError):
            run.recv(0.2)
        self.assertEqual(stack.collect(self.wire).reason, 'signalled')

    def test_a_run_has_output_a_result_and_one_end(self):
        self.kernel.send(READY, 0, b'{}')
        run = self.run_('r')
        tag = self.next_run()
        os.write(self.fds[1], b'printed')
        self.kernel.send(RESULT, tag, b'{"mime":{}}')
        self.assertEqual(self.kernel.recv()[:2], (XM_ACK, tag))
        self.kernel.send(DONE, tag, b'{}')
        kinds = []
        while not kinds or kinds[-1] != stack.END:
            kinds.append(stack.get_event(run.recv()[2])[1])
        self.assertEqual(kinds, [stack.OUT, stack.RESULT, stack.DONE,
                                 stack.END])

    def test_broken_frames_kill_the_kernel_and_end_its_run(self):
        bad = {
            'over the cap': ((64 << 20) + 1).to_bytes(4, 'little') + bytes(12),
            '2^32-1': b'\xff' * 4 + bytes(12),
            'not zero': stack.frame(DONE)[:12] + b'\1\0\0\0',
            'unknown': stack.frame(0x99, 1), 'ours': stack.frame(XM_RUN, 1),
            'descriptors': stack.frame(RESULT, 1, fds=1),
            'the end': None}
        for n, (name, data) in enumerate(bad.items()):
            with self.subTest(frame=name):
                if n > 0:
                    self.begin(f'k{n}')
                self.kernel.send(READY, 0, b'{}')
                run = self.run_(f'r{n}', of=f'k{n}' if n else 'k')
                self.next_run()
                if data is None:
                    self.kernel.sock.shutdown(socket.SHUT_RDWR)
                else:
                    self.kernel.sock.sendall(data)
                self.assert_killed(run)
        self.assertTrue(self.keeper.pings())

    def test_frames_of_no_run_are_ignored(self):
        self.kernel.send(READY, 0, b'{}')
        for kind in (RESULT, ERROR, DONE):
            self.kernel.send(kind, 7, b'{}')
        run = self.run_('r')
        tag = self.next_run()
        for kind in (RESULT, ERROR, DONE):
            for other in (0, tag + 1, tag - 1, 0xffffffff):
                self.kernel.send(kind, other, b'{}')
        self.kernel.send(DONE, tag, b'{"mine":1}')
        got = []
        while not got or got[-1][1] != stack.END:
            got.append(stack.get_event(run.recv()[2]))
        self.assertEqual([e[1] for e in got], [stack.DONE, stack.END])
        self.assertEqual(got[0][2], b'{"mine":1}')

    def test_done_twice_does_not_end_the_next_run(self):
        self.kernel.send(READY, 0, b'{}')
        first, second = self.run_('r1'), self.run_('r2')
        tag = self.next_run()
        for _ in range(3):
            self.kernel.send(DONE, tag, b'{}')
        self.assertEqual(stack.collect(first).reason, 'exited')
        following = self.next_run()
        self.assertNotEqual(following, tag)
        with self.assertRaises(TimeoutError):
            second.recv(0.2)
        self.kernel.send(DONE, following, b'{}')
        self.assertEqual(stack.collect(second).reason, 'exited')

    def test_ready_twice_starts_nothing_twice(self):
        for _ in range(5):
            self.kernel.send(READY, 0, b'{}')
        self.run_('r1')
        self.run_('r2')
        for _ in range(5):
            self.kernel.send(READY, 0, b'{}')
        self.next_run()
        with self.assertRaises(TimeoutError):
            self.kernel.recv(0.2)

    def test_descriptors_from_a_kernel_are_not_taken(self):
        self.kernel.send(READY, 0, b'{}')
        before = self.keeper.fds()
        null = os.open('/dev/null', os.O_RDONLY)
        try:
            for _ in range(10):
                self.kernel.send(READY, 0, b'{}', [null])
        except (PermissionError, BrokenPipeError):
            pass
        os.close(null)
        self.assertTrue(self.keeper.pings())
        stack.until(3, 'none is kept', lambda: self.keeper.fds() <= before)

    def test_a_kernel_that_does_not_read_holds_nobody_up(self):
        self.kernel.send(READY, 0, b'{}')
        self.run_('r')
        tag = self.next_run()
        for _ in range(20000):
            self.kernel.send(RESULT, tag, b'{}')
        self.assertTrue(self.keeper.pings())

    def test_a_run_that_waits_is_not_told_the_signal_of_another(self):
        self.kernel.send(READY, 0, b'{}')
        self.run_('r1')
        self.run_('r2')
        self.next_run()
        with self.keeper.client() as wire:
            for id_, want in (('r2', stack.REFUSED), ('r1', stack.OK)):
                self.assertEqual(wire.ask(
                    stack.KM_SIGNAL, stack.text(id_) + b'\2\0\0\0\0')[0], want)

    def test_a_run_that_waits_ends_alone(self):
        self.kernel.send(READY, 0, b'{}')
        first, second = self.run_('r1'), self.run_('r2')
        tag = self.next_run()
        with self.keeper.client() as wire:
            wire.ask(stack.KM_KILL, stack.text('r2') + bytes(4) + b'\7')
        self.assertEqual(stack.collect(second).reason, 'killed')
        self.kernel.send(DONE, tag, b'{}')
        self.assertEqual(stack.collect(first).reason, 'exited')

    def interrupt(self, id_):
        with self.keeper.client() as wire:
            wire.ask(stack.KM_KILL, stack.text(id_) + bytes(4) + bytes(
                [stack.REASONS.index('interrupted')]))

    def test_whom_a_signal_is_for_is_told_before_it_is_sent(self):
        self.kernel.send(READY, 0, b'{}')
        run = self.run_('r')
        self.interrupt('r')
        self.assertEqual(self.init.next(lone.SIGNAL)[2][0], 2)
        tag = self.next_run()
        self.assertEqual(self.kernel.recv(0), (XM_INTERRUPT, tag, b''))
        self.kernel.send(DONE, tag, b'{}')
        self.assertEqual(stack.collect(run).reason, 'interrupted')

    def test_a_kernel_that_still_reads_its_run_is_signalled_after_that(self):
        self.kernel.send(READY, 0, b'{}')
        self.run_('r', json=bytes(4 << 20))
        self.interrupt('r')
        with self.assertRaises(TimeoutError):
            self.init.next(lone.SIGNAL, timeout=0.3)
        tag = self.next_run()
        self.assertEqual(self.kernel.recv(), (XM_INTERRUPT, tag, b''))
        self.assertEqual(self.init.next(lone.SIGNAL)[2][0], 2)

    def test_the_next_run_waits_until_the_signal_was_sent(self):
        """Else it would be hit by what was meant for the one before."""
        self.kernel.send(READY, 0, b'{}')
        run, following = self.run_('r'), self.run_('next')
        tag = self.next_run()
        self.interrupt('r')
        self.init.next(lone.SIGNAL)
        self.assertEqual(self.kernel.recv()[0], XM_INTERRUPT)
        self.kernel.send(DONE, tag, b'{}')
        self.assertEqual(stack.collect(run).reason, 'interrupted')
        with self.assertRaises(TimeoutError):
            self.kernel.recv(0.3)
        self.init.send(lone.SIGNALLED, self.tag)
        tag = self.next_run()
        self.kernel.send(DONE, tag, b'{}')
        self.assertEqual(stack.collect(following).reason, 'exited')

    def test_init_cannot_hold_up_the_next_run_nor_answer_for_others(self):
        self.kernel.send(READY, 0, b'{}')
        run, following = self.run_('r'), self.run_('next')
        tag = self.next_run()
        self.interrupt('r')
        self.init.next(lone.SIGNAL)
        for other in (0, self.tag + 1, 0xffffffff):
            self.init.send(lone.SIGNALLED, other)
        self.kernel.send(DONE, tag, b'{}')
        stack.collect(run)
        self.kernel.send(DONE, self.next_run(), b'{}')
        self.assertEqual(stack.collect(following).reason, 'exited')
        for _ in range(3):  # too late, and too often
            self.init.send(lone.SIGNALLED, self.tag)
        last = self.run_('last')
        self.kernel.send(DONE, self.next_run(), b'{}')
        self.assertEqual(stack.collect(last).reason, 'exited')

    def test_a_kernel_that_says_so_is_signalled_alone(self):
        for n, (tag, all_) in enumerate({0: 1, 1: 0}.items()):
            if n:
                self.begin('k2')
            self.kernel.send(READY, tag, b'{}')
            run = self.run_(f'r{n}', of='k2' if n else 'k')
            run_tag = self.next_run()
            self.interrupt(f'r{n}')
            self.assertEqual(self.init.next(lone.SIGNAL)[2],
                             b'\2\0\0\0' + bytes([all_]))
            self.init.send(lone.SIGNALLED, self.tag)
            self.kernel.send(DONE, run_tag, b'{}')
            stack.collect(run)

    def test_a_timeout_interrupts_twice_and_then_kills(self):
        self.kernel.send(READY, 0, b'{}')
        run = self.run_('r', timeout_ms=100)
        self.next_run()
        for want in (2, 2, 15):
            self.assertEqual(self.init.next(lone.SIGNAL)[2][0], want)
        self.kernel_dies()
        ended = stack.collect(run)
        self.assertEqual((ended.reason, ended.code, ended.lost),
                         ('timed_out', 124, True))

    def test_the_run_after_one_whose_reader_is_behind_is_read(self):
        """It ended while its output was held back: that is over then."""
        self.kernel.send(READY, 0, b'{}')
        slow = self.run_('slow', ring=64 << 10)
        tag = self.next_run()
        # The reader takes nothing: its socket fills, then the ring.
        os.set_blocking(self.fds[1], False)
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            try:
                os.write(self.fds[1], b'x' * EVERY)
            except BlockingIOError:
                time.sleep(0.01)
        self.kernel.send(DONE, tag, b'{}')
        following = self.run_('next')
        # It is seen when the reader has caught up.
        stack.collect(slow)
        tag = self.next_run()
        os.write(self.fds[1], b'heard')
        self.kernel.send(DONE, tag, b'{}')
        self.assertIn(b'heard', stack.collect(following).out)

    def test_runs_end_when_hundreds_have_ended_since_their_context(self):
        """Old executions are let go; not those that are just being ended."""
        self.kernel.send(READY, 0, b'{}')
        runs = [self.run_(f'r{n}', flags=stack.ATTACH | stack.KILL_ON_CLOSE)
                for n in range(4)]
        self.next_run()
        for n in range(600):
            wire = self.keeper.start(f'x{n}', kind=stack.CALL, flags=0)
            tag, fds = self.init.take()
            for fd in fds:
                os.close(fd)
            self.init.exited(tag)
            wire.sock.close()
        for n in range(700):
            wire = self.keeper.start(f'f{n}', kind=stack.FS, flags=0)
            tag, fds = self.init.take()
            for fd in fds:
                os.close(fd)
            self.init.exited(tag)
            wire.sock.close()
        runs[3].sock.close()
        runs[2].sock.close()
        self.wire.sock.close()
        self.kernel.sock.shutdown(socket.SHUT_RDWR)
        self.kernel_dies()
        for run in runs[:2]:
            self.assertTrue(stack.collect(run).lost)
        self.assertTrue(self.keeper.pings())

    def test_runs_of_no_kernel_are_refused(self):
        for of, code in (('none', 'not_found'), ('', 'not_found')):
            with self.keeper.client() as wire:
                wire.send(stack.KM_RUN, 1, stack.text(of) + stack.text('r') +
                          bytes(20) + stack.text('{}'))
                with self.assertRaises(stack.Refused) as e:
                    stack.collect(wire)
                self.assertEqual(e.exception.code, code)
        with self.keeper.client() as wire:
            wire.send(stack.KM_RUN, 1, stack.text('k') + stack.text('r') +
                      bytes(20) + stack.text(bytes(64 << 20)))
            with self.assertRaises(stack.Refused) as e:
                stack.collect(wire)
            self.assertEqual(e.exception.code, 'limit')


if __name__ == '__main__':
    stack.main()
