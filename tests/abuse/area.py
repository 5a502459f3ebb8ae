"""Where attempts are made: for each folder of attempts/ a warrend, a sandbox
and what the attempts of that folder have in common."""
import json
import platform
import subprocess
import sys
import threading
import time

import net_world
import outside
import stack
import test_disk_life

ONE_CORE = 1000


class Area(stack.Case):
    """self.box is the attacked sandbox, self.stack its warrend."""

    limits = {'cpu': ONE_CORE}

    @classmethod
    def make_box(cls):
        return cls.stack.sandbox(**cls.limits)

    def tearDown(self):
        """run looks at more than stack.Case does."""

    def destroyed_soon(self, box):
        """It takes no more than some times as long as an idle one does."""
        def timed(one):
            begun = time.monotonic()
            self.assertEqual(one.destroy(), 'none')
            return time.monotonic() - begun

        idle = [timed(self.make_box()) for _ in range(3)]
        took = timed(box)
        idle += [timed(self.make_box()) for _ in range(3)]
        self.assertLess(took, 10 * max(idle), idle)


class Files(Area):
    pass


class Processes(Area):
    limits = {'pids': 128, 'cpu': ONE_CORE}


class Information(Area):
    pass


class Network(Area):
    """Policy none."""


class Kernel(Area):
    @classmethod
    def setUpClass(cls):
        if platform.machine() != 'x86_64':
            raise stack.unittest.SkipTest(
                'the calls are given by their x86-64 numbers')
        super().setUpClass()

    def refuses(self, *calls):
        """calls: (name, number, arguments as text, allowed errnos)."""
        self.both('import struct\n' + ''.join(
            f'refused({name!r}, call({number}{args and ", " + args}), '
            f'{", ".join(map(repr, allowed or ("EPERM",)))})\n'
            for name, number, args, *allowed in calls))


class Resources(Area):
    limits = {'pids': 64, 'memory': 192 * stack.MIB, 'cpu': ONE_CORE}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other = cls.make_box()

    def bomb(self, script, user, *args, timeout_ms=4000):
        """A guest that prints what it came to; its end is bounded."""
        return self.box.run(['python3', '-c', stack.GUARD + script, *args],
                            user=user, timeout_ms=timeout_ms, grace_ms=200)


class Lives(Area):
    """Many sandboxes come and go."""

    def lives(self, count, threads, live):
        """live(n) for each n below ${count}, by so many threads at once."""
        failures = []

        def some(first):
            try:
                for n in range(first, count, threads):
                    live(n)
            except Exception as e:
                failures.append(repr(e)[-500:])

        work = [threading.Thread(target=some, args=(n,))
                for n in range(threads)]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
        self.assertEqual(failures, [])

    def settled(self, want=None):
        return outside.settled(self.stack, want)


class Disk(test_disk_life.Case):
    """With a disk of its own, of few bytes and inodes."""

    limits = {**test_disk_life.Case.limits, 'cpu': ONE_CORE}

    @classmethod
    def make_box(cls):
        return cls.stack.sandbox(**cls.limits)

    def tearDown(self):
        pass


class Internet(net_world.Case):
    """Policy internet, in a world of namespaces."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack = cls.net

    @classmethod
    def make_box(cls):
        return cls.net.open()

    def tearDown(self):
        pass

    def both(self, program, box=None):
        """Run a guest program as root and as user sandbox; it must print
        nothing and end with 0."""
        for user in net_world.USERS:
            with self.subTest(user=user):
                done = (box or self.box).py(stack.GUARD + program, user=user)
                self.assertEqual((done.code, done.stdout), (0, ''), done)

    def root_in(self, box, program):
        """The machine's own root in the sandbox's network namespace."""
        _, init = box.pids()
        return subprocess.run(
            ['nsenter', f'--net=/proc/{init}/ns/net', sys.executable, '-c',
             net_world.GUEST + program], check=True, capture_output=True,
            text=True).stdout.strip()

    def sent(self):
        """Packets that left the egress namespace by the uplink."""
        return json.loads(self.net.egress(
            'ip', '-s', '-j', 'link', 'show', 'up0').stdout
        )[0]['stats64']['tx']['packets']


class Floods(Internet):
    """Low limits on connections, and an address that never answers."""

    conf = net_world.Case.conf + 'connections = 512\nrate = 100\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        net_world.inside(cls.world.world, 'ip', 'route', 'add', 'blackhole',
                         net_world.BLACKHOLE)
