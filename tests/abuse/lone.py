"""A real warren-keeper whose init, sandbox and clients are the test."""
import array
import os
import socket
import subprocess
import tempfile

import stack

(SPAWN, SIGNAL) = (0x21, 0x22)
(HELLO, SPAWNED, FAILED, EXITED, EMPTY, CALLS, SIGNALLED) = range(0x31, 0x38)
KEEPER_UID = 0x0f0ffff0


class Init(stack.Wire):
    """The test as init: takes descriptors, answers what it likes."""

    def __init__(self, sock):
        super().__init__(sock)
        self.fds = []

    def recv_into(self, timeout):
        if not stack.readable(self.sock, timeout):
            raise TimeoutError('no frame')
        data, control, _, _ = self.sock.recvmsg(1 << 20, 4096)
        for _, _, rights in control:
            fds = array.array('i')
            fds.frombytes(rights[:len(rights) // 4 * 4])
            self.fds += fds
        if not data:
            raise stack.Broken
        self.data += data

    def next(self, want=None, timeout=10):
        """(type, tag, payload, descriptors)"""
        while True:
            while len(self.data) < 16 or len(self.data) < 16 + \
                    int.from_bytes(self.data[:4], 'little'):
                self.recv_into(timeout)
            nfds = int.from_bytes(self.data[6:8], 'little')
            kind, tag, payload = super().recv()
            fds, self.fds = self.fds[:nfds], self.fds[nfds:]
            if want is None or kind == want:
                return kind, tag, payload, fds
            for fd in fds:
                os.close(fd)

    def take(self, pid=100):
        """Take a SPAWN and say that it runs: its tag and descriptors."""
        _, tag, _, fds = self.next(SPAWN)
        self.send(SPAWNED, tag, pid.to_bytes(4, 'little'))
        return tag, fds

    def exited(self, tag, code=0, signalled=0, empty=1):
        self.send(EXITED, tag, bytes([signalled]) +
                  code.to_bytes(4, 'little') + bytes([empty]))


class LoneKeeper:
    def __init__(self):
        stack.need_root()
        self.dir = tempfile.mkdtemp(prefix='warren-lone-')
        os.chmod(self.dir, 0o755)
        empty = os.path.join(self.dir, 'empty')
        os.mkdir(empty)
        self.path = os.path.join(self.dir, 'sock')
        self.log = open(os.path.join(self.dir, 'log'), 'a+b')
        self.sleeper = subprocess.Popen(['sleep', '600'])
        listen = socket.socket(socket.AF_UNIX)
        listen.bind(self.path)
        listen.listen(128)
        listen.setblocking(False)
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        pidfd = os.pidfd_open(self.sleeper.pid)
        net = os.open('/proc/self/ns/net', os.O_RDONLY)
        give = [listen.fileno(), theirs.fileno(), pidfd, net]

        def place():
            high = [os.dup2(fd, 100 + i) for i, fd in enumerate(give)]
            for i, fd in enumerate(high):
                os.dup2(fd, 3 + i)
            os.closerange(3 + len(give), 200)

        self.process = subprocess.Popen(
            [f'{stack.BIN}/warren-keeper', 'test', str(KEEPER_UID), '0',
             empty, ''], stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, preexec_fn=place, close_fds=False,
            env={'ASAN_OPTIONS': 'detect_leaks=0'})
        listen.close()
        theirs.close()
        os.close(pidfd)
        os.close(net)
        self.init = Init(ours)
        self.init.send(HELLO, 0)

    def client(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.path)
        return stack.Wire(sock)

    def start(self, id_, **how):
        wire = self.client()
        wire.id = id_
        wire.send(stack.KM_START, 1, stack.put_start(id_, ['x'], **how))
        return wire

    def fds(self):
        return len(os.listdir(f'/proc/{self.process.pid}/fd'))

    def pings(self):
        with self.client() as wire:
            return wire.ask(stack.KM_PING)[0] == stack.OK

    def ended(self, timeout=10):
        """Wait until it leaves by itself; its exit code."""
        return self.process.wait(timeout)

    def said(self):
        with open(self.log.name, encoding='utf-8', errors='replace') as file:
            return file.read()

    def close(self):
        self.init.sock.close()
        try:
            code = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.sleeper.kill()
        self.sleeper.wait()
        self.log.close()
        said = self.said()
        subprocess.run(['rm', '-rf', self.dir], check=True)
        if code != 0 or 'AddressSanitizer' in said or 'runtime error:' in said:
            raise AssertionError(f'keeper: {code}: {said}')
