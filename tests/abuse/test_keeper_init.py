"""A keeper and an init that lies (research: C1-C4)."""
import os
import socket
import time
import unittest

import lone
import stack


class KeeperInit(unittest.TestCase):
    def setUp(self):
        self.keeper = lone.LoneKeeper()
        self.addCleanup(self.keeper.close)
        self.init = self.keeper.init

    def running(self, id_='a', **how):
        """An execution that this init says runs."""
        wire = self.keeper.start(id_, **how)
        tag, fds = self.init.take()
        self.assertEqual(wire.recv()[0], stack.STARTED)
        return wire, tag, fds

    def assert_gone(self, wire):
        """The reader gets its one END, then the keeper leaves."""
        ended = stack.collect(wire)
        self.assertEqual(ended.reason, 'sandbox_gone')
        self.assertTrue(wire.closed())
        self.assertEqual(self.keeper.ended(), 0)

    def test_a_normal_life(self):
        wire, tag, fds = self.running()
        self.assertEqual(len(fds), 3)
        os.write(fds[1], b'out')
        os.write(fds[2], b'err')
        for fd in fds:
            os.close(fd)
        self.init.exited(tag, 7)
        ended = stack.collect(wire)
        self.assertEqual((ended.reason, ended.code, ended.out, ended.err),
                         ('exited', 7, b'out', b'err'))

    def test_malformed_frames_end_the_sandbox_and_every_reader_hears(self):
        bad = {
            'length 2^31': (1 << 31).to_bytes(4, 'little') + bytes(12),
            'length 2^32-1': b'\xff\xff\xff\xff' + bytes(12),
            'length over the cap': (4097).to_bytes(4, 'little') + bytes(12),
            'not zero': stack.frame(lone.HELLO)[:12] + b'\1\0\0\0',
            'descriptors missing': stack.frame(lone.HELLO, fds=1),
            'too many descriptors': stack.frame(lone.HELLO, fds=999),
            'unknown type': stack.frame(0x99),
            'type of a client': stack.frame(stack.KM_START),
            'type of itself': stack.frame(lone.SPAWN),
            'short SPAWNED': stack.frame(lone.SPAWNED, 1, b'\1\0'),
            'long SPAWNED': stack.frame(lone.SPAWNED, 1, bytes(5)),
            'short EXITED': stack.frame(lone.EXITED, 1, bytes(5)),
            'status 256': stack.frame(
                lone.EXITED, 1, b'\0' + (256).to_bytes(4, 'little') + b'\1'),
            'status 2^32-1': stack.frame(
                lone.EXITED, 1, b'\0\xff\xff\xff\xff\1'),
            'errno 2^31': stack.frame(lone.FAILED, 1, b'\1\0\0\0\x80'),
            'long EMPTY': stack.frame(lone.EMPTY, 1, b'\0'),
            'long HELLO': stack.frame(lone.HELLO, 1, b'\0'),
        }
        for name, data in bad.items():
            with self.subTest(frame=name):
                keeper = lone.LoneKeeper()
                try:
                    wire = keeper.start('a')
                    keeper.init.take()
                    keeper.init.sock.sendall(data)
                    ended = stack.collect(wire)
                    self.assertEqual(ended.reason, 'sandbox_gone')
                    self.assertTrue(wire.closed())
                    self.assertEqual(keeper.ended(), 0)
                    wire.sock.close()
                finally:
                    keeper.close()

    def test_a_second_hello_changes_nothing(self):
        wire, tag, _ = self.running()
        for _ in range(100):
            self.init.send(lone.HELLO, 5)
        self.init.exited(tag)
        self.assertEqual(stack.collect(wire).reason, 'exited')

    def test_answers_about_unknown_executions_are_ignored(self):
        for tag in (0, 1, 77, 0xffffffff):
            self.init.send(lone.SPAWNED, tag, bytes(4))
            self.init.exited(tag)
            self.init.send(lone.EMPTY, tag)
            self.init.send(lone.FAILED, tag, bytes(5))
        self.assertTrue(self.keeper.pings())

    def test_c04_codes_out_of_range_end_the_sandbox(self):
        for payload in (b'\0\0\1\0\0\1', b'\0\xff\xff\xff\xff\1',
                        b'\1\0\0\0\x80\1'):
            with self.subTest(payload=payload):
                self.doCleanups()
                self.setUp()
                wire, tag, _ = self.running()
                self.init.send(lone.EXITED, tag, payload)
                self.assert_gone(wire)

    def test_c04_a_pid_that_init_claims_is_nobodys_but_inits(self):
        """Whatever it says, signals go to init by the execution's tag: this
        keeper, which the test could name, is not what is killed."""
        for n, pid in enumerate((0, 1, 0x7fffffff, 0xffffffff,
                                 self.keeper.process.pid)):
            wire = self.keeper.start(f'p{n}')
            tag, _ = self.init.take(pid)
            self.assertEqual(wire.recv()[0], stack.STARTED)
            with self.keeper.client() as other:
                self.assertEqual(other.ask(
                    stack.KM_KILL, stack.text(f'p{n}') + b'\0\0\0\0\7')[0],
                    stack.OK)
            self.assertEqual(self.init.next(lone.SIGNAL)[1], tag)
            self.init.exited(tag, 9, signalled=1)
            self.assertEqual(stack.collect(wire).reason, 'killed')
            self.assertTrue(stack.alive(self.keeper.process.pid))

    def test_i14_what_init_is_sent_has_no_byte_of_chance(self):
        """The same start from two keepers, whose memory was used otherwise,
        is the same bytes: nothing that was not written is sent."""
        other = lone.LoneKeeper()
        self.addCleanup(other.close)
        for n in range(20):
            other.start(f'w{n}', cwd='/' + 'secret' * 300, stdin=b'x' * 5000)
            other.init.take()
        seen = []
        for keeper in (self.keeper, other):
            keeper.start('same', cwd='/tmp', env=['A=b'])
            kind, _, payload, fds = keeper.init.next(lone.SPAWN)
            seen.append((kind, payload, len(fds)))
        self.assertEqual(*seen)

    def test_an_end_before_the_start_is_ignored(self):
        wire = self.keeper.start('a')
        _, tag, _, _ = self.init.next(lone.SPAWN)
        self.init.exited(tag, 3)
        self.init.send(lone.EMPTY, tag)
        self.init.send(lone.SPAWNED, tag, bytes(4))
        self.assertEqual(wire.recv()[0], stack.STARTED)
        self.init.exited(tag, 4)
        self.assertEqual(stack.collect(wire).code, 4)

    def test_a_second_end_is_ignored(self):
        wire, tag, _ = self.running()
        for code in (1, 2, 3):
            self.init.exited(tag, code)
            self.init.send(lone.EMPTY, tag)
            self.init.send(lone.FAILED, tag, bytes(5))
            self.init.send(lone.SPAWNED, tag, bytes(4))
        self.assertEqual(stack.collect(wire).code, 1)
        with self.assertRaises(TimeoutError):
            wire.recv(0.3)

    def test_a_failure_after_the_start_is_ignored(self):
        wire, tag, _ = self.running()
        self.init.send(lone.FAILED, tag, b'\7\2\0\0\0')
        self.init.exited(tag, 9)
        self.assertEqual(stack.collect(wire).code, 9)

    def test_descriptors_from_init_are_not_taken(self):
        before = self.keeper.fds()
        wire, _, _ = self.running()
        read, write = os.pipe()
        try:
            self.init.send(lone.HELLO, 1, fds=[read])
        except PermissionError:
            # Linux 6.16: they cannot even be sent.
            self.assertTrue(self.keeper.pings())
        else:
            self.assert_gone(wire)
        os.close(read)
        os.close(write)
        del before

    def test_bytes_one_by_one_are_put_together(self):
        wire, tag, _ = self.running()
        data = stack.frame(lone.EXITED, tag, b'\0\5\0\0\0\1')
        for byte in data:
            self.init.sock.sendall(bytes([byte]))
            time.sleep(0.005)
            self.assertTrue(self.keeper.pings())
        self.assertEqual(stack.collect(wire).code, 5)

    def test_half_a_frame_holds_nobody_up(self):
        wire, _, _ = self.running()
        self.init.sock.sendall(stack.frame(lone.HELLO)[:9])
        self.assertTrue(self.keeper.pings())
        self.init.sock.close()
        self.assert_gone(wire)

    def test_init_that_closes_ends_all(self):
        wires = [self.running(f'a{n}')[0] for n in range(20)]
        late = self.keeper.start('late')
        self.init.next(lone.SPAWN)
        self.init.sock.close()
        with self.assertRaises(stack.Refused) as e:
            stack.collect(late)
        self.assertEqual(e.exception.code, 'gone')
        for wire in wires:
            self.assertEqual(stack.collect(wire).reason, 'sandbox_gone')
        self.assertEqual(self.keeper.ended(), 0)

    def test_init_that_does_not_read_costs_no_other_call(self):
        # 60 long programs: more than the link carries.
        wires = [self.keeper.start(f'a{n}', stdin=b'', cwd='/' * 3000,
                                   env=['A=' + 'x' * 60000])
                 for n in range(60)]
        self.assertTrue(self.keeper.pings())
        for wire in wires:
            self.init.take()
        for wire in wires:
            self.assertEqual(wire.recv()[0], stack.STARTED)

    def test_a_flood_of_frames_is_no_growth(self):
        frame = stack.frame(lone.HELLO, 9)
        for _ in range(200):
            self.init.sock.sendall(frame * 1000)
        self.assertTrue(self.keeper.pings())
        self.assertLess(stack.memory_of(self.keeper.process.pid),
                        64 * stack.MIB)

    def test_a_kill_that_init_does_not_confirm_ends_the_sandbox(self):
        wire, tag, _ = self.running()
        with self.keeper.client() as other:
            self.assertEqual(other.ask(
                stack.KM_KILL, stack.text('a') + b'\0\0\0\0\7')[0], stack.OK)
        signals = [self.init.next(lone.SIGNAL)[2] for _ in range(2)]
        self.assertEqual([int.from_bytes(s[:4], 'little') for s in signals],
                         [15, 9])
        self.assertEqual([s[4] for s in signals], [1, 1])
        del tag
        self.assertEqual(stack.collect(wire, 15).reason, 'sandbox_gone')

    def test_no_descriptor_is_left_of_100_executions(self):
        self.running('warm')
        before = self.keeper.fds()
        for n in range(100):
            wire, tag, fds = self.running(f'a{n}', stdin=b'x')
            for fd in fds:
                os.close(fd)
            self.init.exited(tag)
            stack.collect(wire)
            wire.sock.close()
            # And one that could not be started.
            wire = self.keeper.start(f'b{n}')
            _, tag, _, fds = self.init.next(lone.SPAWN)
            for fd in fds:
                os.close(fd)
            self.init.send(lone.FAILED, tag, b'\7\2\0\0\0')
            self.assertEqual(wire.recv()[0], stack.REFUSED)
            wire.sock.close()
        stack.until(5, 'all are closed', lambda: self.keeper.fds() <= before)

    def test_a_refused_start_tells_those_who_followed_it(self):
        wire = self.keeper.start('a')
        _, tag, _, _ = self.init.next(lone.SPAWN)
        with self.keeper.client() as other:
            other.send(stack.KM_ATTACH, 6, stack.text('a') + bytes(8) + b'\1')
            self.assertEqual(other.recv()[0], stack.ATTACHED)
            self.init.send(lone.FAILED, tag, b'\7\2\0\0\0')
            kind, tag, _ = other.recv()
            self.assertEqual((kind, tag), (stack.REFUSED, 6))
        self.assertEqual(wire.recv()[0], stack.REFUSED)


class KeeperClients(unittest.TestCase):
    """A keeper and clients that break the protocol, or are too many."""

    def setUp(self):
        self.keeper = lone.LoneKeeper()
        self.addCleanup(self.keeper.close)
        self.init = self.keeper.init

    running = KeeperInit.running

    def test_malformed_requests_drop_that_client_alone(self):
        good = stack.put_start('z', ['x', 'y'], env=['A=b'], stdin=b'in')
        bad = [stack.frame(stack.KM_START, 1, good[:n])
               for n in range(len(good))]
        bad += [stack.frame(stack.KM_START, 1, good + b'\0'),
                stack.frame(0), stack.frame(0x7f), stack.frame(0xffff),
                stack.frame(stack.STARTED), stack.frame(stack.OK),
                b'\xff' * 16, (73 << 20).to_bytes(4, 'little') + bytes(12),
                stack.frame(stack.KM_PING, fds=2),
                stack.frame(stack.KM_SIGNAL, 1, stack.text('a') + bytes(5)),
                stack.frame(stack.KM_SIGNAL, 1,
                            stack.text('a') + b'\x41\0\0\0\0'),
                stack.frame(stack.KM_ATTACH, 1,
                            stack.text('a') + b'\xff' * 8 + b'\1'),
                stack.frame(stack.KM_STATUS, 1, stack.text('a\0b')),
                stack.frame(stack.KM_PORT_OPEN, 1,
                            b'\x50\0' + stack.text('k'))]
        bad += [stack.frame(stack.KM_KILL, 1, stack.text('a') + bytes(4) +
                            bytes([reason])) for reason in (0, 10, 200, 255)]
        for kind in (stack.KM_RUN, stack.KM_ATTACH, stack.KM_SIGNAL,
                     stack.KM_KILL, stack.KM_STDIN, stack.KM_STATUS,
                     stack.KM_FORGET, stack.KM_PORT_OPEN, stack.KM_PORT_CLOSE,
                     stack.KM_ACK):
            bad += [stack.frame(kind), stack.frame(kind, 1, b'\xff' * 40),
                    stack.frame(kind, 1, bytes(3))]
        other = self.keeper.client()
        for data in bad:
            with self.keeper.client() as wire:
                wire.sock.sendall(data)
                wire.sock.shutdown(socket.SHUT_WR)
                self.assertTrue(wire.closed())
            self.assertEqual(other.ask(stack.KM_PING)[0], stack.OK)
        other.sock.close()

    def test_counts_that_lie_cost_no_memory(self):
        for count in (0x10000, 0x10001, 0x7fffffff, 0xffffffff):
            payload = (stack.text('z') + b'\1' + bytes(24) + stack.text('') +
                       stack.text('') + count.to_bytes(4, 'little') +
                       bytes(70000))
            with self.keeper.client() as wire:
                wire.send(stack.KM_START, 1, payload)
                self.assertTrue(wire.closed())
        self.assertTrue(self.keeper.pings())

    def test_what_may_not_be_started_is_refused(self):
        for id_, argv, how, code in (
                ('', ['x'], {}, 'arg'), ('../x', ['x'], {}, 'arg'),
                ('a/b', ['x'], {}, 'arg'), ('x' * 129, ['x'], {}, 'arg'),
                ('k0', [], {}, 'arg'), ('k1', ['x'], {'kind': 0}, 'arg'),
                ('k2', ['x'], {'kind': stack.RUN}, 'arg'),
                ('k3', ['x'], {'kind': 99}, 'arg'),
                ('k4', ['x'], {'user': 'daemon'}, 'arg'),
                ('k5', ['x'], {'flags': 16}, 'arg'),
                ('k6', ['x' * (17 << 20)], {}, 'limit')):
            with self.keeper.client() as wire:
                wire.send(stack.KM_START, 1,
                          stack.put_start(id_, argv, **how))
                with self.assertRaises(stack.Refused) as e:
                    stack.collect(wire)
                self.assertEqual(e.exception.code, code, id_)
        wire, _, _ = self.running('twice')
        with self.keeper.start('twice') as again:
            with self.assertRaises(stack.Refused) as e:
                stack.collect(again)
        self.assertEqual(e.exception.code, 'exists')
        wire.sock.close()

    def test_ten_thousand_attaches_end_with_their_connection(self):
        wire, tag, fds = self.running()
        before = self.keeper.fds()
        many = self.keeper.client()
        request = stack.text('a') + bytes(8) + b'\1'
        for n in range(10000):
            many.sock.sendall(stack.frame(stack.KM_ATTACH, n, request))
            if n % 100 == 99:
                while many.recv()[1] != n:
                    pass
        os.write(fds[1], b'x')
        got = 0
        while got < 10000:
            if many.recv()[0] == stack.EVENT:
                got += 1
        many.sock.close()
        stack.until(5, 'it is closed', lambda: self.keeper.fds() == before)
        self.init.exited(tag)
        self.assertEqual(stack.collect(wire).out, b'x')

    def test_no_more_than_so_many_run_at_a_time(self):
        with self.keeper.client() as wire:
            for n in range(1030):
                wire.send(stack.KM_START, n, stack.put_start(
                    f'a{n}', ['x'], flags=0))
            refused = 0
            for n in range(1024):
                _, tag, _, fds = self.init.next(lone.SPAWN)
                for fd in fds:
                    os.close(fd)
                self.init.send(lone.FAILED, tag, b'\3\13\0\0\0')
            for n in range(1030):
                kind, _, payload = wire.recv()
                self.assertEqual(kind, stack.REFUSED)
                refused += stack.Refused(payload).what == 'executions'
            self.assertEqual(refused, 6)
        self.assertTrue(self.keeper.pings())

    def test_a_client_that_does_not_read_is_dropped_in_the_end(self):
        for n in range(40):
            self.running('x' * 100 + str(n))[0].sock.close()
        wire = self.keeper.client()
        wire.sock.setblocking(False)
        ask = stack.frame(stack.KM_LIST) * 256
        sent = 0
        try:
            while sent < 64 << 20:
                try:
                    sent += wire.sock.send(ask)
                except BlockingIOError:
                    self.assertTrue(self.keeper.pings())
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.assertLess(sent, 64 << 20)
        wire.sock.close()
        self.assertTrue(self.keeper.pings())

    def test_pipes_that_survivors_hold_do_not_pile_up(self):
        kept = []
        for n in range(1400):
            wire, tag, fds = self.running(f'a{n}', ring=1 << 20)
            os.write(fds[1], b'x' * 60000)
            os.close(fds[0])
            kept += fds[1:]
            self.init.exited(tag)
            self.assertEqual(stack.collect(wire).out_bytes, 60000)
            wire.sock.close()
        limit = 2 * (1024 + 256) + 100
        stack.until(5, 'some are closed', lambda: self.keeper.fds() < limit)
        stack.until(5, 'their memory is given back', lambda: stack.memory_of(
            self.keeper.process.pid) < 40 * stack.MIB)
        for fd in kept:
            os.close(fd)
        stack.until(5, 'all are closed', lambda: self.keeper.fds() < 40)
        with self.keeper.client() as wire:
            self.assertEqual(wire.ask(stack.KM_STATUS, stack.text('a1399')
                                      )[0], stack.ITEM)

    def test_a_stranger_is_not_answered(self):
        os.chmod(self.keeper.path, 0o666)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
                with self.keeper.client() as wire:
                    try:
                        wire.ask(stack.KM_PING)
                    except (stack.Broken, BrokenPipeError):
                        code = 0
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        os.close(read)
        os.close(write)

    def test_a_second_kill_may_be_sooner_never_later(self):
        wire, tag, _ = self.running()
        with self.keeper.client() as other:
            for grace in (60000, 100, 90000):
                self.assertEqual(other.ask(
                    stack.KM_KILL, stack.text('a') +
                    grace.to_bytes(4, 'little') + b'\7')[0], stack.OK)
        self.assertEqual(self.init.next(lone.SIGNAL)[2][0], 15)
        # Within less than the first or the last said.
        self.assertEqual(self.init.next(lone.SIGNAL, timeout=30)[2][0], 9)
        self.init.exited(tag, 9, 1)
        self.assertEqual(stack.collect(wire).reason, 'killed')

    def test_preview_connections_that_are_gone_cost_no_time(self):
        """The client leaves, the server says nothing: no spinning."""
        server = socket.create_server(('127.0.0.1', 0))
        port = server.getsockname()[1]
        preview = socket.socket(socket.AF_UNIX)
        path = os.path.join(self.keeper.dir, 'preview')
        preview.bind(path)
        preview.listen(16)
        with self.keeper.client() as wire:
            self.assertEqual(wire.ask(
                stack.KM_PORT_OPEN, port.to_bytes(2, 'little') +
                stack.text('k'), [preview.fileno()])[0], stack.OK)
        kept = []
        for how in ('close', 'half', 'reset'):
            visitor = socket.socket(socket.AF_UNIX)
            visitor.connect(path)
            visitor.sendall(b'GET / HTTP/1.0\r\n\r\n')
            behind, _ = server.accept()
            self.assertEqual(behind.recv(100)[:3], b'GET')
            if how == 'close':
                visitor.close()
            elif how == 'half':
                visitor.shutdown(socket.SHUT_WR)
                self.assertEqual(behind.recv(10), b'')
                behind.sendall(b'late')
                self.assertEqual(visitor.recv(10), b'late')
            else:
                behind.sendall(b'x' * 100000)
                behind.shutdown(socket.SHUT_WR)
            kept += [visitor, behind]
        time.sleep(0.2)
        before = self.cpu()
        time.sleep(1)
        self.assertLess(self.cpu() - before, 20)
        for sock in kept:
            sock.close()
        server.close()
        preview.close()

    def cpu(self):
        """Clock ticks that the keeper has used."""
        with open(f'/proc/{self.keeper.process.pid}/stat',
                  encoding='ascii') as file:
            words = file.read().rsplit(')', 1)[1].split()
        return int(words[11]) + int(words[12])


if __name__ == '__main__':
    stack.main()
