"""The broker and those who ask it (research: C12, C13, C21)."""
import os
import select
import socket
import struct
import subprocess
import threading
import time
import unittest

import outside
import stack
from outside import counts


class Broker(stack.Case):
    def test_c13_malformed_messages_drop_the_connection(self):
        good = self.stack.request(stack.START, stack.new_id())
        id_ = stack.new_id()
        request = self.stack.request
        bad = [b'x', good[:-1], good + b'\0', good * 2, bytes(128),
               b'\xff' * 128, good[:127], b'x' * 60000,
               request(stack.PING, magic=0x31), request(0), request(99),
               request(stack.START, id_, rest=b'\xff' * 48),
               request(stack.START, id_, rest=bytes(12) + b'\2'),
               request(stack.START, id_, rest=bytes(16) + b'\1'),
               request(stack.START, id_, rest=bytes(18) + b'\1'),
               request(stack.START, id_, rest=bytes(20) + b'\2'),
               request(stack.START, id_, rest=bytes(27) + b'\1'),
               request(stack.START, ''), request(stack.DESTROY, ''),
               request(stack.STOP, 'x' * 32), request(stack.START, id_[:-1]),
               request(stack.START, id_ + '0'),
               request(stack.START, '../' + id_[3:]),
               request(stack.START, id_[:-1] + '/'),
               request(stack.START, id_.upper()),
               request(stack.DESTROY, '.' * 22),
               request(stack.START, id_[:10] + '\0' + id_[11:]),
               request(stack.START, id_ + '\0x'),
               request(stack.START, id_, image=''),
               request(stack.START, id_, image='..'),
               request(stack.START, id_, image='a/b'),
               request(stack.START, id_, image='host\0x'),
               request(stack.START, id_, image='h' * 32),
               request(stack.START, id_, memory=0),
               request(stack.START, id_, memory=(16 << 20) - 4096),
               request(stack.START, id_, memory=(16 << 20) + 1),
               request(stack.START, id_, memory=1 << 63),
               request(stack.START, id_, cpu=0),
               request(stack.START, id_, cpu=0xffffffff),
               request(stack.START, id_, pids=0),
               request(stack.START, id_, pids=0xffffffff)]
        before = self.settled()
        for data in bad:
            with self.stack.connect() as sock:
                sock.send(data)
                try:
                    self.assertEqual(sock.recv(100), b'', data[:60])
                except ConnectionResetError:
                    pass
        self.assertEqual(self.settled(before), before)

    def test_c13_descriptors_sent_along_are_not_kept(self):
        before = self.settled()
        import array
        with open('/dev/null', 'rb') as null, self.stack.connect() as sock:
            for _ in range(50):
                sock.sendmsg([self.stack.request(stack.PING)], [(
                    socket.SOL_SOCKET, socket.SCM_RIGHTS,
                    array.array('i', [null.fileno()] * 3))])
                self.assertEqual(len(sock.recv(100)), 24)
            during = counts(self.stack)
        self.assertLessEqual(during['fds'], before['fds'] + 1)

    def test_c13_other_users_are_refused(self):
        path = self.stack.run + '/broker.sock'
        os.chmod(path, 0o666)
        for uid in (65534, 33, 1000):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    os.setresgid(uid, uid, uid)
                    os.setresuid(uid, uid, uid)
                    with self.stack.connect() as sock:
                        sock.send(self.stack.request(stack.PING))
                        code = len(sock.recv(100))
                except OSError:
                    code = 0
                os._exit(code)
            self.assertEqual(os.waitstatus_to_exitcode(
                os.waitpid(pid, 0)[1]), 0)
        os.chmod(path, 0o660)

    def test_c13_connections_are_limited(self):
        kept = []
        for _ in range(1100):
            try:
                kept.append(self.stack.connect())
            except OSError:
                break
        try:
            self.assertLess(counts(self.stack)['fds'], 1200)
        finally:
            for sock in kept:
                sock.close()
        stack.until(5, 'it answers', self.answers)

    def answers(self):
        try:
            return self.stack.broker(stack.PING) == 'none'
        except (OSError, stack.Broken):
            return False

    def test_an_unknown_image_is_refused(self):
        before = self.settled()
        self.assertEqual(self.stack.broker(stack.START, stack.new_id(),
                                           image='none'), 'not_found')
        self.assertEqual(self.settled(before), before)

    def test_c12_two_starts_at_once_are_both_answered(self):
        for _ in range(10):
            id_ = stack.new_id()
            socks = [self.stack.connect() for _ in range(6)]
            for n, sock in enumerate(socks):
                sock.send(self.stack.request(stack.START, id_, cookie=n))
            for n, sock in enumerate(socks):
                answer = struct.unpack('<IIQII', sock.recv(100))
                self.assertEqual((answer[2], answer[3]), (n, 0))
                sock.close()
            self.assertEqual(stack.Sandbox(self.stack, id_).destroy(), 'none')

    def test_c12_an_end_during_a_start_wins_and_leaves_nothing(self):
        before = self.settled()
        for kind in (stack.STOP, stack.DESTROY):
            for delay in (0, 0.0005, 0.001, 0.002, 0.004):
                id_ = stack.new_id()
                a, b = self.stack.connect(), self.stack.connect()
                a.send(self.stack.request(stack.START, id_))
                time.sleep(delay)
                b.send(self.stack.request(kind, id_))
                self.assertIn(
                    stack.ERRORS[struct.unpack('<IIQII', a.recv(100))[3]],
                    ('none', 'state', 'io'))
                self.assertEqual(struct.unpack('<IIQII', b.recv(100))[3], 0)
                a.close()
                b.close()
                self.assertEqual(self.stack.broker(stack.DESTROY, id_),
                                 'none')
        self.assertEqual(self.settled(before), before)

    def test_a_tenant_that_asks_for_many_does_not_hold_up_another(self):
        def ask(flow):
            sock = self.stack.connect()
            self.addCleanup(sock.close)
            id_ = stack.new_id()
            self.addCleanup(self.stack.broker, stack.DESTROY, id_)
            sock.send(self.stack.request(stack.START, id_, flow=flow))
            return sock.fileno(), sock

        waits = dict(ask(5) for _ in range(40))
        other, sock = ask(6)
        waits[other] = sock
        poll, order = select.poll(), []
        for fd in waits:
            poll.register(fd, select.POLLIN)
        while len(order) < len(waits):
            ready = poll.poll(30000)
            self.assertTrue(ready, 'no answer')
            for fd, _ in ready:
                poll.unregister(fd)
                self.assertEqual(waits[fd].recv(100)[16:20], bytes(4))
                order.append(fd)
        # Those that were in hand, and what came meanwhile, may be before it.
        self.assertLess(order.index(other), 30, order)

    def test_c12_starts_ends_and_calls_at_once(self):
        ids = [stack.new_id() for _ in range(3)]
        errors = []

        def churn(seed):
            try:
                for n in range(25):
                    id_ = ids[(seed + n) % 3]
                    answer = self.stack.broker(
                        (stack.START, stack.DESTROY, stack.START,
                         stack.STOP)[(seed + n) % 4], id_)
                    if answer not in ('none', 'state', 'io'):
                        errors.append(answer)
                    try:
                        stack.Sandbox(self.stack, id_).sh('echo x')
                    except (OSError, stack.Broken, stack.Refused):
                        pass
            except Exception as e:  # told below
                errors.append(repr(e))

        threads = [threading.Thread(target=churn, args=(n,))
                   for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        for id_ in ids:
            self.assertEqual(self.stack.broker(stack.DESTROY, id_), 'none')

    def settled(self, want=None):
        return outside.settled(self.stack, want)

    def test_nothing_of_an_idle_sandbox_wakes_up(self):
        def turns(pid):
            with open(f'/proc/{pid}/status', encoding='ascii') as file:
                return [line for line in file if 'ctxt_switches' in line]

        box = self.stack.sandbox()
        self.assertEqual(box.sh('echo ok').stdout, 'ok\n')
        time.sleep(1.5) # what ended is swept once
        before = [turns(pid) for pid in box.pids()]
        time.sleep(2.5)
        self.assertEqual([turns(pid) for pid in box.pids()], before)
        box.destroy()

    def test_c21_a_clone_that_fails_is_an_answer(self):
        """The broker may make no process: nothing breaks, nothing stays."""
        before = self.settled()
        cgroup = f'/sys/fs/cgroup/pids/{self.stack.name}-broker'
        if not os.path.isdir('/sys/fs/cgroup/pids'):
            self.skipTest('no pids controller of cgroup v1')
        os.mkdir(cgroup)
        try:
            makers = self.stack.makers()
            for pid in [self.stack.process.pid, *makers]:
                self.put(cgroup + '/cgroup.procs', pid)
            self.put(cgroup + '/pids.max', 1)
            ids = [stack.new_id() for _ in range(40)]
            answers = [self.stack.broker(stack.START, id_) for id_ in ids]
            # What was made ahead needs no process; then all of it fails.
            self.assertLessEqual(set(answers), {'none', 'io', 'limit'})
            self.assertNotIn('none', answers[16:])
            for id_ in ids:
                self.assertEqual(
                    self.stack.broker(stack.DESTROY, id_), 'none')
            self.put(cgroup + '/pids.max', 'max')
            for pid in open(cgroup + '/cgroup.procs',
                            encoding='ascii').read().split():
                self.put('/sys/fs/cgroup/pids/cgroup.procs', pid)
        finally:
            stack.until(5, 'the group is empty', lambda: not open(
                cgroup + '/cgroup.procs', encoding='ascii').read())
            os.rmdir(cgroup)
        sandbox = self.stack.sandbox()
        self.assertEqual(sandbox.sh('echo ok').stdout, 'ok\n')
        sandbox.destroy()
        for name in os.listdir(self.stack.data + '/sandboxes'):
            if name != self.box.id and not name.startswith('trash'):
                self.stack.broker(stack.DESTROY, name)
        self.assertEqual(self.settled(before), before)

    @staticmethod
    def put(path, value):
        with open(path, 'w', encoding='ascii') as file:
            file.write(str(value))

    def test_a_second_broker_does_not_take_over_a_living_one(self):
        done = subprocess.run(
            [f'{stack.BIN}/warrend', '--data', self.stack.data, '--run',
             self.stack.run], capture_output=True, text=True, timeout=20,
            check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn('another warrend', done.stderr)


if __name__ == '__main__':
    stack.main()
