"""Whatever dies, at whatever time: no loop device and no mount stays behind,
files are whole at the next start (research: R23; an image has no journal)."""
import os
import random
import signal
import subprocess
import threading
import time
import unittest

import stack
from outside import loops
from test_disk_life import BYTES, INODES, disk, image

SPARES = 8
LIMITS = {'rest': disk(BYTES, INODES)}


def descriptors(pid):
    return len(os.listdir(f'/proc/{pid}/fd'))


def mounts(of):
    """In the machine's own tree: nothing but its own cgroup trees."""
    with open('/proc/self/mountinfo', encoding='utf-8') as file:
        return sorted(line.split(' ', 4)[4] for line in file
                      if of.name in line or of.data in line)


class Crash(unittest.TestCase):
    def setUp(self):
        self.stack = stack.Stack()
        self.addCleanup(self.stack.close)
        self.box = self.stack.sandbox(**LIMITS)
        if not os.path.exists(image(self.box)):
            self.skipTest('no ext4 images here (quota or none)')
        self.box.sh('echo kept >/workspace/x; sync -d /workspace/x')

    def loops_are(self, sandboxes, seconds=15):
        """Theirs, and at most the spares of a broker that runs."""
        most = sandboxes + SPARES * (self.stack.process.poll() is None)
        stack.until(seconds, f'loop devices of {sandboxes} sandboxes',
                    lambda: sandboxes <= len(loops(self.stack.data)) <= most)

    def restart(self):
        return self.stack.broker(stack.START, self.box.id, **LIMITS)

    def kept(self):
        self.assertEqual(self.box.sh('cat /workspace/x').stdout, 'kept\n')

    def test_the_brokers_end_is_no_sandboxes_end(self):
        self.stack.kill()
        self.loops_are(1)
        self.kept()
        self.stack.start()
        self.kept()
        self.assertEqual(self.box.destroy(), 'none')
        self.loops_are(0)

    def test_the_end_of_init_or_keeper_unmounts(self):
        for which in (0, 1, 0, 1):
            self.box.sh('head -c 20M /dev/zero >/workspace/dirty')
            os.kill(self.box.pids()[which], signal.SIGKILL)
            self.loops_are(0)
            self.assertEqual(self.restart(), 'none')
            self.loops_are(1)
            self.kept()

    def test_everything_killed_at_once(self):
        for _ in range(3):
            pids = self.box.pids()
            self.stack.process.send_signal(signal.SIGSTOP)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            self.stack.kill()
            self.loops_are(0)
            self.stack.start()
            self.assertEqual(self.restart(), 'none')
            self.kept()

    def test_the_broker_killed_amid_starts_and_ends(self):
        before = mounts(self.stack)
        for _ in range(6):
            stop = threading.Event()
            threads = [threading.Thread(target=self.churn, args=(stop,))
                       for _ in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(random.uniform(0.05, 0.6))
            self.stack.kill()
            stop.set()
            for thread in threads:
                thread.join()
            self.stack.start()
            self.kept()
            for id_ in os.listdir(f'{self.stack.data}/sandboxes'):
                if id_ != self.box.id and not id_.startswith('trash.'):
                    self.assertEqual(
                        self.stack.broker(stack.START, id_, **LIMITS), 'none')
                    self.assertEqual(
                        self.stack.broker(stack.DESTROY, id_), 'none')
            self.loops_are(1)
        stack.until(10, 'files are gone', lambda: os.listdir(
            f'{self.stack.data}/sandboxes') == [self.box.id])
        self.assertEqual(mounts(self.stack), before)

    def churn(self, stop):
        while not stop.is_set():
            id_ = stack.new_id()
            try:
                for kind in (stack.START, stack.STOP, stack.START,
                             stack.DESTROY):
                    self.stack.broker(kind, id_, **LIMITS)
            except (OSError, stack.Broken):
                return

    def test_r23_two_hundred_leave_nothing(self):
        for count in (20, 200):
            for _ in range(count):
                box = self.stack.sandbox(**LIMITS)
                self.assertEqual(box.destroy(), 'none')
            self.loops_are(1)
            now = self.settled()
            if count == 20:
                before = now
        self.assertEqual(now[0], before[0])
        self.assertLess(abs(now[1] - before[1]), 40)

    def settled(self):
        """Mounts and descriptors, when spares have been made again."""
        now = None
        while True:
            before, now = now, (mounts(self.stack),
                                descriptors(self.stack.process.pid))
            if now == before:
                return now
            time.sleep(1)

    def crash(self):
        """The image as a crash of the host would leave it."""
        copy = image(self.box) + '.crashed'
        subprocess.run(['cp', '--sparse=always', image(self.box), copy],
                       check=True)
        self.assertEqual(self.stack.broker(stack.STOP, self.box.id), 'none')
        os.rename(copy, image(self.box))

    def test_after_a_crash_of_the_host_files_are_there(self):
        self.box.sh('seq 1000 | xargs -n1 touch; head -c 5M /dev/zero >y')
        self.crash()
        self.assertEqual(self.restart(), 'none')
        self.kept()
        self.assertIn('not clean, is checked', self.stack.said())
        self.assertEqual(self.box.sh('echo more >>/workspace/x').code, 0)
        self.assertEqual(self.stack.broker(stack.STOP, self.box.id), 'none')
        self.assertEqual(self.restart(), 'none')
        self.assertEqual(self.stack.said().count('is checked'), 1)

    def test_an_image_beyond_repair_fails_its_own_sandbox_only(self):
        self.crash()
        with open(image(self.box), 'r+b') as file:
            for _ in range(BYTES // stack.MIB + 4):
                file.write(os.urandom(stack.MIB // 4))
                file.seek(3 * stack.MIB // 4, 1)
        self.assertEqual(self.restart(), 'io')
        self.assertEqual(self.stack.sandbox(**LIMITS).sh('echo x').stdout,
                         'x\n')
        self.assertEqual(self.box.destroy(), 'none')
        self.loops_are(1)
        self.assertEqual(self.restart(), 'none')
        self.assertEqual(self.box.sh('ls /workspace').stdout, '')

    def test_a_check_holds_up_nobody_and_can_be_ended(self):
        big = self.stack.sandbox(memory=512 * stack.MIB,
                                 rest=disk(4 << 30, 500000))
        big.sh('cd /workspace; seq 30000 | xargs -n 500 sh -c '
               '\'mkdir $1; cd $1; touch "$@"\' -; '
               'python3 -c "import os; os.fsync(os.open(\\".\\", 0))"',
               wait=60)
        self.box, small = big, self.box
        self.crash()
        with self.stack.connect() as sock:
            sock.send(self.stack.request(stack.START, big.id, **LIMITS))
            begin = time.monotonic()
            self.assertEqual(small.sh('echo x').stdout, 'x\n')
            self.assertEqual(self.stack.broker(stack.PING), 'none')
            took = time.monotonic() - begin
            # The second START waits for the same check.
            self.assertEqual(self.restart(), 'none')
            self.assertLess(took, (time.monotonic() - begin) / 2)
            self.assertTrue(sock.recv(100))
        self.crash()
        with self.stack.connect() as sock:
            sock.send(self.stack.request(stack.START, big.id, **LIMITS))
            self.assertEqual(self.stack.broker(stack.DESTROY, big.id), 'none')
            sock.recv(100)
        self.loops_are(1)


if __name__ == '__main__':
    stack.main()
