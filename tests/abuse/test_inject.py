"""Each step of a start is broken once: nothing of that sandbox is left, none
of its programs ran, and the next start works. The steps are those of
sandbox/spawn_steps.def and sandbox/inject.def, all of them; those of a fork
from a zygote are in sandbox/zygote_steps.def."""
import array
import mmap
import os
import re
import socket
import struct
import sys

import stack
import test_zygote

SOURCES = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                       '..', '..', 'sandbox')
# Broken, they are gone round: a start needs no husk, no keeper that waits.
AVOIDED = {'STAGE', 'HUSK', 'HUSK_FDS', 'KEEPER_SEAT'}
# And a husk that is given its orders before it breaks takes its start along.
LATE = {'STAGE', 'HUSK_FDS'}
TRIES = 40  # more than is kept ready
AHEAD = 16  # husks that are ready or just being made


def forks():
    """The steps of a fork from a zygote, which are the last of the points."""
    with open(os.path.join(SOURCES, 'zygote_steps.def'),
              encoding='utf-8') as text:
        return re.findall(r'^STEP\((\w+)\)', text.read(), re.M)


def points():
    """The names, in the order of enum inject_point."""
    names = ['']
    for file, row in (('spawn_steps.def', r'^STEP\((\w+)\)'),
                      ('inject.def', r'^INJECT\((\w+),'),
                      ('zygote_steps.def', r'^STEP\((\w+)\)')):
        with open(os.path.join(SOURCES, file), encoding='utf-8') as text:
            names += re.findall(row, text.read(), re.M)
    return names


class Breaking(stack.Stack):
    """A warrend in whose run directory the memory is that arms a step."""

    def start(self, wait=True):
        if self.process is None:
            os.mkdir(self.run, 0o755)
            with open(self.run + '/inject', 'w+b') as file:
                file.truncate(4 * (1 + len(points())))
                self.memory = mmap.mmap(file.fileno(), 0)
        super().start(wait)

    def arm(self, point):
        self.memory[:4] = struct.pack('I', point)

    def reached(self, point):
        return struct.unpack_from('I', self.memory, 4 + 4 * point)[0]


def inits(name):
    """Programs that run as PID 1 of any sandbox of a stack."""
    found = set()
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/comm', encoding='latin-1') as comm, \
                 open(f'/proc/{pid}/cgroup', encoding='latin-1') as groups:
                if comm.read() == 'warren-init\n' and \
                   f':/{name}/' in groups.read():
                    found.add(int(pid))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


class Inject(stack.Case):
    @classmethod
    def setUpClass(cls):
        cls.stack = Breaking()
        cls.addClassCleanup(cls.stack.close)
        if 'lets steps fail' not in cls.stack.said():
            print('skipped: a release build lets no step fail')
            cls.stack.close()
            sys.exit(77)
        cls.box = cls.stack.sandbox()

    def left(self):
        """What there is by sandboxes' names."""
        name, run = self.stack.name, self.stack.run
        tops = [run + '/keepers', run + '/sandboxes',
                self.stack.data + '/sandboxes']
        for top in ('', '/unified', '/memory', '/pids', '/cpu'):
            tops.append(f'/sys/fs/cgroup{top}/{name}')
        return {f'{top}/{entry}' for top in tops if os.path.isdir(top)
                for entry in os.listdir(top) if entry.startswith(('s0', '.s'))}

    def gone(self, before):
        """Wait until nothing is left but what was there."""
        try:
            stack.until(5, '', lambda: self.left() <= before)
        except AssertionError:
            self.fail(f'left: {self.left() - before}')

    def try_once(self):
        """START and DESTROY of a new one; the answer to START."""
        box = stack.Sandbox(self.stack)
        answer = self.stack.broker(stack.START, box.id)
        self.ids.append(box.id)
        if answer == 'none':
            self.assertEqual(box.sh('echo on').stdout, 'on\n')
            self.assertEqual(box.destroy(), 'none')
        return answer

    def works_again(self):
        """What was made ahead while the step was broken may still break."""
        self.stack.arm(0)
        for _ in range(TRIES):
            if self.try_once() == 'none':
                return
        self.fail('no start works any more')

    def drain_husks(self, names):
        """Until what is kept ready has no husk any more."""
        self.stack.arm(names.index('HUSK'))
        before = self.stack.reached(names.index('CLONE'))
        for _ in range(TRIES):
            self.try_once()
            if self.stack.reached(names.index('CLONE')) > before:
                return
        self.fail('no start without a husk')

    def broken(self, names, point):
        """Start until it fails (or would have): the answers."""
        name, before = names[point], self.stack.reached(point)
        answers = []
        for _ in range(TRIES):
            if name == 'CLONE':
                self.drain_husks(names)
            self.stack.arm(point)
            answers.append(self.try_once())
            if self.stack.reached(point) > before and \
                    (name in AVOIDED or answers[-1] != 'none'):
                break
        return answers

    def use_up(self):
        """What was made ahead while another step was broken."""
        self.stack.arm(0)
        for _ in range(AHEAD):
            self.try_once()

    def break_step(self, names, point, running):
        reached = self.stack.reached(point)
        if names[point] in AVOIDED:
            self.use_up()
        answers = self.broken(names, point)
        self.assertGreater(self.stack.reached(point), reached,
                           'no start came by')
        if names[point] in AVOIDED:
            may = {'none', 'io'} if names[point] in LATE else {'none'}
            self.assertLessEqual(set(answers), may)
        else:
            self.assertEqual(answers[-1], 'io')
        # No program of it: not half confined, not at all.
        stack.until(5, 'no init is left',
                    lambda: inits(self.stack.name) <= running)
        self.works_again()

    def test_each_step_broken_leaves_nothing(self):
        names = points()
        self.assertGreater(len(names), 30)
        before, running = self.left(), inits(self.stack.name)
        for point in range(1, len(names) - len(forks())):
            with self.subTest(step=names[point]):
                self.ids = []
                try:
                    self.break_step(names, point, running)
                finally:
                    # What one step left is not to be told of all after it.
                    done = {self.stack.broker(stack.DESTROY, id_)
                            for id_ in self.ids}
                self.assertLessEqual(done, {'none', 'not_found'})
                self.gone(before)
                self.assertEqual(self.box.sh('echo on').stdout, 'on\n')

    def ask_fork(self, user):
        """A kernel from a zygote: (error, pid, step) as the broker says."""
        wire = self.box.keeper()
        wire.id = f'k{next(stack.numbers)}'
        wire.send(stack.KM_START, 1, stack.put_start(
            wire.id, ['python'], kind=stack.KERNEL, flags=test_zygote.FORKED,
            user=user))
        fds = test_zygote.take_fds(wire)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
            door.settimeout(20)
            door.connect(self.stack.run + '/fork.sock')
            door.sendmsg([struct.pack(
                '<II32s32s16s', test_zygote.MAGIC, user == 'sandbox',
                self.box.id.encode(), b'host', b'python')], [
                    (socket.SOL_SOCKET, socket.SCM_RIGHTS,
                     array.array('i', fds))])
            for fd in fds:
                os.close(fd)
            _, err, pid, step = struct.unpack('<4I', door.recv(16))
        wire.sock.close()
        return err, pid, step

    def inside(self):
        """Processes of the sandbox, by their cgroup outside."""
        name, found = f'/{self.box.id}', set()
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/cgroup', encoding='latin-1') as file:
                    if name in file.read():
                        found.add(pid)
            except (FileNotFoundError, ProcessLookupError):
                continue
        return found

    def test_each_step_of_a_fork_broken_leaves_no_process(self):
        names, first = forks(), len(points()) - len(forks())
        stack.until(60, 'a zygote', lambda: 'zygote python' in
                    self.stack.said() and 'is ready' in self.stack.said()
                    .split('zygote python')[1])
        before = self.inside()
        for user in ('root', 'sandbox'):
            for i, name in enumerate(names):
                with self.subTest(step=name, user=user):
                    self.stack.arm(first + i)
                    err, pid, step = self.ask_fork(user)
                    self.stack.arm(0)
                    self.assertEqual((stack.ERRORS[err], pid, step),
                                     ("io", 0, i + 1), self.stack.said()[-900:])
                    self.assertGreater(self.stack.reached(first + i), 0)
                    stack.until(5, 'no process of it is left',
                                lambda: self.inside() <= before)
                    # It serves on: five failures in a row would end it.
                    err, pid, _ = self.ask_fork(user)
                    self.assertEqual(err, 0)
                    self.assertGreater(pid, 1)
                    self.box.sh(f'kill -9 {pid}')
                    stack.until(5, 'that one is gone',
                                lambda: self.inside() <= before)

    def test_a_broker_whose_starts_failed_holds_nothing(self):
        names, self.ids = points(), []
        pid = self.stack.process.pid

        def fds():
            return len(os.listdir(f'/proc/{pid}/fd'))

        for _ in range(20):
            self.try_once()
        most = fds()
        for name in ('MOUNTS', 'CGROUP_LIMIT', 'KEEPER_START', 'FILTER',
                     'EXEC'):
            self.stack.arm(names.index(name))
            for _ in range(20):
                self.assertEqual(self.try_once(), 'io')
        self.works_again()
        for _ in range(20):
            self.try_once()
        stack.until(5, f'at most {most + 8} descriptors are open',
                    lambda: fds() <= most + 8)


if __name__ == '__main__':
    stack.main()
