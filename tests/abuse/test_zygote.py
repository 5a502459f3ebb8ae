"""Contexts that a zygote forks: what their sandbox can do to them while they
become what they are."""
import array
import os
import re
import signal
import socket
import struct
import threading

import stack

KM_FORKED, KM_FDS = 19, 0x8b
FORKED = 128  # a flag of START
MAGIC = 0x57524631

# Stops each new process again and again, and looks whether it may see into it
# by then: who sees its descriptors may write to its memory, too. Prints what
# it has beyond 0 to 3.
STEPPER = r'''
import random, time

def send(pid, signal):
    try:
        os.kill(pid, signal)
    except OSError as e:
        return e.errno
    return 0

def look(pid):
    try:
        names = os.listdir(f'/proc/{pid}/fd')
        if f'Tgid:\t{pid}\n' not in open(f'/proc/{pid}/status').read():
            return None  # a thread of one that was seen
    except OSError:
        return None
    links = []
    for name in names:
        try:
            if int(name) > 3:
                links.append(os.readlink(f'/proc/{pid}/fd/{name}'))
        except OSError:
            pass
    return links

def step(pid):
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        got = send(pid, 19)
        if got == errno.ESRCH:
            return None
        if got:
            continue
        for _ in range(random.randrange(40)):
            pass
        links = look(pid)
        send(pid, 18)
        if links is not None:
            return links
        for _ in range(random.randrange(600)):
            pass
    return None

print('begun', flush=True)
last, seen, until = os.getpid(), 0, time.monotonic() + float(sys.argv[1])
while seen < 100 and time.monotonic() < until:
    new = [pid for pid in range(last + 1, last + 64)
           if send(pid, 0) != errno.ESRCH]
    if not new:
        continue
    last = new[-1]
    links = step(last)
    if links is not None:
        seen += 1
        print(*links)
print('end')
'''


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

    def stepped(self, language, user):
        """What was left open in each child that its sandbox could see."""
        attack = self.box.start(
            ['python3', '-c', stack.GUARD + STEPPER, '6'], user=user,
            timeout_ms=25000)
        attack.recv()
        ended = []
        reader = threading.Thread(
            target=lambda: ended.append(stack.collect(attack)))
        reader.start()
        while reader.is_alive():
            wire, pid = self.fork(language, user)
            if pid:
                self.box.kill(wire.id)
            wire.sock.close()
        reader.join()
        lines = ended[0].stdout.split('\n')
        self.assertEqual((lines[0], lines[-2]), ('begun', 'end'), ended)
        return [line.split() for line in lines[1:-2]]

    def test_no_child_is_seen_while_it_has_what_is_its_zygotes(self):
        for language, user in (('python', 'sandbox'), ('javascript', 'root')):
            with self.subTest(language=language):
                known = set()
                for links in self.stepped(language, user):
                    self.assertFalse([link for link in links
                                      if link.startswith('socket:')], links)
                    numbers = {link for link in links if '[' in link and
                               not link.startswith('anon_inode:')}
                    self.assertFalse(numbers & known, 'shared by children')
                    known |= numbers
                    for kind in ('eventpoll', 'eventfd'):
                        self.assertLessEqual(
                            links.count(f'anon_inode:[{kind}]'), 1, links)

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
