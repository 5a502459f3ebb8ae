"""Contexts that a zygote forks: what their sandbox can do to them while they
become what they are."""
import array
import os
import random
import re
import signal
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor

import stack

KM_FORKED, KM_FDS = 19, 0x8b
FORKED = 128  # a flag of START
MAGIC = 0x57524631



def links(pid):
    """What a process has open that can be shared: pipes and sockets."""
    found = set()
    for name in os.listdir(f'/proc/{pid}/fd'):
        try:
            found.add(os.readlink(f'/proc/{pid}/fd/{name}'))
        except FileNotFoundError:
            pass
    return {link for link in found if link.startswith(('socket:', 'pipe:'))}


def is_shown(pid):
    """Dumpable: what it has in /proc belongs to its user, its memory too."""
    return os.stat(f'/proc/{pid}/fd').st_uid != 0


def take_fds(wire):
    """The descriptors of a FDS frame."""
    data, fds = b'', array.array('i')
    while len(data) < 16:
        got, parts, _, _ = wire.sock.recvmsg(16 - len(data),
                                             socket.CMSG_SPACE(16))
        if not got:
            raise stack.Broken
        data += got
        for _, _, part in parts:
            fds.frombytes(part)
    if struct.unpack('<IHHII', data)[1] != KM_FDS:
        raise AssertionError(data)
    return list(fds)


class Zygote(stack.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in ('python', 'node'):
            stack.until(60, 'a zygote', lambda name=name: re.search(
                rf'zygote {name} .* is ready', cls.stack.said()))

    def ask(self, language, user):
        """A keeper's connection, and the answer: a number inside, or 0."""
        wire = self.box.keeper()
        wire.id = f'k{next(stack.numbers)}'
        wire.send(stack.KM_START, 1, stack.put_start(
            wire.id, [language], kind=stack.KERNEL, flags=FORKED, user=user))
        fds = take_fds(wire)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
            door.settimeout(20)
            door.connect(self.stack.run + '/fork.sock')
            door.sendmsg([struct.pack(
                '<II32s32s16s', MAGIC, user == 'sandbox',
                self.box.id.encode(), b'host', language.encode())], [
                    (socket.SOL_SOCKET, socket.SCM_RIGHTS,
                     array.array('i', fds))])
            for fd in fds:
                os.close(fd)
            _, _, pid, _ = struct.unpack('<4I', door.recv(16))
        return wire, pid

    def fork(self, language, user):
        """The same, and the keeper is told."""
        wire, pid = self.ask(language, user)
        wire.send(KM_FORKED, 2, stack.text(wire.id) + struct.pack('<I', pid))
        return wire, pid

    @staticmethod
    def newest(broker, last):
        """A process after ${last} with the link to the broker, or 0."""
        with open('/proc/loadavg', encoding='ascii') as file:
            newest = int(file.read().split()[-1])
        for pid in range(newest, max(last, newest - 20), -1):
            try:
                if broker in links(pid):
                    return pid
            except (FileNotFoundError, ProcessLookupError):
                continue
        return 0

    def watch_one(self, zygote, last, asked):
        """Stop a child again and again, as its user could; what it had of its
        zygote's when its user could first have seen into it."""
        broker = os.readlink(f'/proc/{zygote}/fd/3')
        pid = 0
        while not asked.done() or pid > last:
            pid = self.newest(broker, max(last, zygote))
            last = max(pid, last)
            try:
                while pid:
                    os.kill(pid, signal.SIGSTOP)
                    shown = is_shown(pid)
                    had = links(pid) & links(zygote)
                    os.kill(pid, signal.SIGCONT)
                    if shown:
                        return pid, had
                    for _ in range(random.randrange(2000)):
                        pass
            except (FileNotFoundError, ProcessLookupError):
                pass  # the one between
        return last, None

    def test_no_child_is_seen_while_it_has_what_is_its_zygotes(self):
        for name, language in (('python', 'python'), ('node', 'javascript')):
            zygote, last, seen = self.zygote(name), 0, 0
            with self.subTest(name=name), ThreadPoolExecutor(1) as other:
                for _ in range(600):
                    asked = other.submit(self.fork, language, 'root')
                    last, had = self.watch_one(zygote, last, asked)
                    self.assertFalse(had)
                    seen += had is not None
                    wire, pid = asked.result()
                    if pid:
                        self.box.kill(wire.id)
                    wire.sock.close()
                    if seen == 40:
                        break
                self.assertGreater(seen, 3)

    def zygote(self, name):
        """The pid of the newest."""
        return int(re.findall(rf'zygote {name} \(pid (\d+)\) is ready',
                              self.stack.said())[-1])

    def test_sandboxes_that_end_meanwhile_are_no_fault_of_a_zygote(self):
        pid = self.zygote('node')
        kept, self.box = self.box, self.stack.sandbox()
        os.kill(pid, signal.SIGSTOP)
        try:
            asking = [threading.Thread(target=self.ask,
                                       args=('javascript', 'root'))
                      for _ in range(8)]
            for thread in asking:
                thread.start()
            waiting = rf'{self.stack.run}/fork.sock'
            stack.until(2, 'the requests', lambda: open(
                '/proc/net/unix', encoding='ascii').read().count(waiting) > 8)
            self.assertEqual(self.box.destroy(), 'none')
        finally:
            self.box = kept
            os.kill(pid, signal.SIGCONT)
        for thread in asking:
            thread.join()
        wire, inside = self.fork('javascript', 'root')
        self.assertGreater(inside, 0)
        self.assertEqual(self.zygote('node'), pid)
        self.assertTrue(stack.alive(pid))
        self.box.kill(wire.id)
        wire.sock.close()


if __name__ == '__main__':
    stack.main()
