"""kill -9 of each program: what goes on, what ends, what stays (research:
C14-C16)."""
import glob
import os
import signal
import time
import unittest

import stack


class Deaths(unittest.TestCase):
    def setUp(self):
        self.stack = stack.Stack()
        self.addCleanup(self.stack.close)

    def started(self, sandbox):
        def again():
            return self.stack.broker(stack.START, sandbox.id) == 'none'
        stack.until(5, 'it starts again', again)

    def test_c14_a_killed_keeper_ends_its_sandbox_only(self):
        box, other = self.stack.sandbox(), self.stack.sandbox()
        box.sh('echo kept > /workspace/f; echo gone > /tmp/f')
        wire = box.start(['sleep', '100'])
        wire.recv()
        keeper, init = box.pids()
        os.kill(keeper, signal.SIGKILL)
        self.assertTrue(wire.closed())
        stack.until(5, 'init is gone', lambda: not stack.alive(init))
        self.assertEqual(other.sh('echo fine').stdout, 'fine\n')
        self.started(box)
        self.assertEqual(box.sh('cat /workspace/f; cat /tmp/f').stdout,
                         'kept\n')
        wire.sock.close()

    def test_a_killed_init_is_told_to_every_reader(self):
        box = self.stack.sandbox()
        wires = [box.start(['sleep', '100']) for _ in range(5)]
        for wire in wires:
            wire.recv()
        keeper, init = box.pids()
        os.kill(init, signal.SIGKILL)
        for wire in wires:
            self.assertEqual(stack.collect(wire).reason, 'sandbox_gone')
            wire.sock.close()
        stack.until(5, 'the keeper left', lambda: not stack.alive(keeper))
        self.started(box)
        self.assertEqual(box.sh('echo again').stdout, 'again\n')

    def test_c15_a_killed_broker_ends_nothing(self):
        box, idle = self.stack.sandbox(), self.stack.sandbox()
        wire = box.start(['/bin/bash', '-c',
                          'echo begun; sleep 2; echo still'])
        wire.recv()
        before = box.pids(), idle.pids()
        self.stack.kill()
        self.assertEqual(idle.sh('echo works').stdout, 'works\n')
        self.stack.start()
        ended = stack.collect(wire)
        wire.sock.close()
        self.assertEqual((ended.reason, ended.stdout),
                         ('exited', 'begun\nstill\n'))
        self.assertEqual((box.pids(), idle.pids()), before)
        self.assertEqual(box.sh('echo on').stdout, 'on\n')
        # They are the new broker's: it starts none twice and ends them.
        self.assertEqual(self.stack.broker(stack.START, box.id), 'none')
        self.assertEqual(box.pids(), before[0])
        fresh = self.stack.sandbox()
        self.assertNotIn(fresh.slot(), (box.slot(), idle.slot()))
        for sandbox in (box, idle, fresh):
            self.assertEqual(sandbox.destroy(), 'none')
        for pid in before[0] + before[1]:
            self.assertFalse(stack.alive(pid))
        self.assertEqual(glob.glob(
            f'/sys/fs/cgroup/*/{self.stack.name}/s*'), [])

    def test_c15_what_died_while_no_broker_lived_is_cleaned_up(self):
        boxes = [self.stack.sandbox() for _ in range(3)]
        pids = [box.pids() for box in boxes]
        boxes[0].sh('echo kept > /workspace/f')
        self.stack.kill()
        os.kill(pids[0][0], signal.SIGKILL)
        os.kill(pids[1][1], signal.SIGKILL)
        time.sleep(0.3)
        self.stack.start()
        for n, which in ((0, 1), (1, 0)):
            stack.until(5, 'its other half is gone',
                        lambda n=n, which=which:
                        not stack.alive(pids[n][which]))
        self.assertEqual(boxes[2].sh('echo fine').stdout, 'fine\n')
        for box in boxes[:2]:
            self.started(box)
        self.assertEqual(boxes[0].sh('cat /workspace/f').stdout, 'kept\n')

    def test_c15_a_broker_killed_in_the_middle_of_starts(self):
        for delay in (0.0, 0.001, 0.002, 0.003, 0.005):
            ids = [stack.new_id() for _ in range(5)]
            socks = []
            for id_ in ids:
                sock = self.stack.connect()
                sock.send(self.stack.request(stack.START, id_))
                socks.append(sock)
            time.sleep(delay)
            self.stack.kill()
            for sock in socks:
                sock.close()
            self.stack.start()
            for id_ in ids:
                box = stack.Sandbox(self.stack, id_)
                self.started(box)
                self.assertEqual(box.sh('echo on').stdout, 'on\n')
                self.assertEqual(box.destroy(), 'none')
        stack.until(5, 'no cgroup is left', lambda: not glob.glob(
            f'/sys/fs/cgroup/*/{self.stack.name}/s*'))

    def test_a_broker_that_is_stopped_stops_all(self):
        box = self.stack.sandbox()
        box.sh('echo kept > /workspace/f')
        pids = box.pids()
        self.assertTrue(self.stack.stop())
        for pid in pids:
            self.assertFalse(stack.alive(pid))
        self.stack.start()
        self.started(box)
        self.assertEqual(box.sh('cat /workspace/f').stdout, 'kept\n')

    def test_killed_roles_are_started_again(self):
        # recorder, terminals and one worker
        def roles():
            found = []
            for name in os.listdir(self.stack.run + '/roles'):
                if stack.alive(int(name)):
                    found.append(int(name))
            return sorted(found)

        first = stack.until(5, 'they run', lambda: len(roles()) == 3 and
                            roles())
        for pid in first:
            os.kill(pid, signal.SIGKILL)
        stack.until(10, 'new ones run', lambda: len(roles()) == 3 and
                    not set(roles()) & set(first))

    def test_whoever_makes_things_ahead_may_die_and_starts_go_on(self):
        self.stack.sandbox().destroy()
        for _ in range(3):
            pids = self.stack.makers()
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            stack.until(5, 'they are dead',
                        lambda: not any(map(stack.alive, pids)))
            boxes = [self.stack.sandbox() for _ in range(12)]
            for box in boxes:
                self.assertEqual(box.sh('echo on').stdout, 'on\n')
                self.assertEqual(box.destroy(), 'none')

    def test_a_zygote_that_cannot_start_is_told_once(self):
        self.stack.stop()
        os.unlink(self.stack.data + '/images/host/rootfs/opt/warren/kernels/'
                  'python/zygote.py')
        self.stack.start()
        stack.until(30, 'it was tried again and again',
                    lambda: self.stack.said().count("can't open file") > 3)
        self.assertEqual(self.stack.said().count(
            'zygote python cannot be started'), 1)


if __name__ == '__main__':
    stack.main()
