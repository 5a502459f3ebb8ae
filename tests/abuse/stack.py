"""A private warrend for tests, and the two wires that lead to a sandbox: the
broker's fixed-size messages and the keeper's frames. Standard library only.

WARREN_BIN is where the programs were built, WARREN_IMAGE a composed image."""
import array
import glob
import itertools
import os
import random
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

BIN = os.environ.get('WARREN_BIN', '')
IMAGE = os.environ.get('WARREN_IMAGE', '')
MAGIC = 0x57524e31
START, STOP, DESTROY, PING = 1, 2, 3, 4
MIB = 1 << 20

(KM_START, KM_RUN, KM_ATTACH, KM_SIGNAL, KM_KILL, KM_STDIN, KM_STATUS,
 KM_LIST, KM_FORGET, KM_PORT_OPEN, KM_PORT_CLOSE, KM_SUBSCRIBE, KM_ACK,
 KM_PING) = range(1, 15)
KM_STATE, KM_WAKE, KM_SLEEP, STATE_IS = 24, 25, 26, 0x8f
(STARTED, REFUSED, ATTACHED, EVENT, GAP, REPLAYED, ITEM,
 OK) = range(0x81, 0x89)
CALL, PROCESS, FS, GIT, KERNEL, RUN = range(1, 7)
ATTACH, KILL_ON_CLOSE, STDIN_OPEN, MERGE = 1, 2, 4, 8
OUT, ERR, RESULT, ERROR, DONE, END = range(1, 7)
REASONS = ('', 'exited', 'signalled', 'timed_out', 'out_of_memory',
           'output_limit', 'disk_limit', 'killed', 'interrupted',
           'sandbox_gone')
ERRORS = ('none', 'arg', 'not_found', 'exists', 'limit', 'state', 'denied',
          'nomem', 'io', 'store', 'peer', 'timeout', 'gone')
numbers = itertools.count(1)


def need_root():
    if os.getuid() != 0:
        print('skipped: needs root, for a warrend of its own')
        sys.exit(77)


def main():
    need_root()
    unittest.main(verbosity=2, warnings='ignore')


def new_id():
    alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
    return 's00000' + ''.join(random.choices(alphabet, k=16))


def text(s):
    b = s if isinstance(s, bytes) else s.encode()
    return struct.pack('<I', len(b)) + b + b'\0'


def texts(list_):
    return struct.pack('<I', len(list_)) + b''.join(map(text, list_))


def frame(kind, tag=1, payload=b'', fds=0):
    return struct.pack('<IHHII', len(payload), kind, fds, tag, 0) + payload


# A deadline ends a test that has failed; it is no claim of speed, and a busy
# machine may take a hundred times as long as an idle one.
PATIENCE_S = 100


def until(seconds, what, fn):
    """fn()'s first true value; an assertion names ${what} else."""
    seconds = max(seconds, PATIENCE_S)
    deadline = time.monotonic() + seconds
    while True:
        value = fn()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f'not within {seconds} s: {what}')
        time.sleep(0.01)


def readable(sock, seconds):
    """Wait for bytes or the end; select() takes no descriptor over 1023."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def sanitized():
    """Built with AddressSanitizer: its memory says nothing of ours."""
    with open(f'{BIN}/warren-keeper', 'rb') as file:
        return b'__asan_init' in file.read()


def memory_of(pid):
    """Resident bytes of a process outside."""
    with open(f'/proc/{pid}/status', encoding='ascii') as file:
        used = int(file.read().split('VmRSS:')[1].split()[0]) * 1024
    return 0 if sanitized() else used


def alive(pid):
    """Runs: neither gone nor a zombie that nobody has reaped yet."""
    try:
        with open(f'/proc/{pid}/stat', encoding='latin-1') as file:
            return file.read().rsplit(')', 1)[1].split()[0] not in 'ZX'
    except (FileNotFoundError, ProcessLookupError):
        return False


class Broken(Exception):
    """The peer closed its end."""


class Wire:
    """Frames on a stream socket."""

    def __init__(self, sock):
        self.sock = sock
        self.data = b''
        self.tag = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, kind, tag=1, payload=b'', fds=()):
        data = frame(kind, tag, payload, len(fds))
        if fds:
            n = self.sock.sendmsg([data], [(
                socket.SOL_SOCKET, socket.SCM_RIGHTS,
                array.array('i', fds))])
            data = data[n:]
        self.sock.sendall(data)

    def recv(self, timeout=PATIENCE_S):
        """(type, tag, payload); Broken at the end of the stream."""
        deadline = time.monotonic() + timeout
        while True:
            if len(self.data) >= 16:
                size, kind, _, tag, _ = struct.unpack(
                    '<IHHII', self.data[:16])
                if len(self.data) >= 16 + size:
                    payload = self.data[16:16 + size]
                    self.data = self.data[16 + size:]
                    return kind, tag, payload
            left = deadline - time.monotonic()
            if left <= 0 or not readable(self.sock, left):
                raise TimeoutError('no frame')
            try:
                got = self.sock.recv(1 << 20)
            except ConnectionResetError:
                got = b''
            if not got:
                raise Broken
            self.data += got

    def ask(self, kind, payload=b'', fds=()):
        """Send, and the first answer with that tag."""
        self.tag += 1
        tag = 1000 + self.tag
        self.send(kind, tag, payload, fds)
        while True:
            got = self.recv()
            if got[1] == tag:
                return got

    def closed(self, timeout=PATIENCE_S):
        """Wait until the peer has dropped this connection."""
        try:
            while True:
                self.recv(timeout)
        except Broken:
            return True


class Refused(Exception):
    def __init__(self, payload):
        self.code = ERRORS[struct.unpack('<I', payload[:4])[0]]
        self.what = payload[8:-1].decode()
        super().__init__(f'{self.code}: {self.what}')


class Ended:
    """What became of an execution."""

    def __init__(self, out, err, data):
        (self.code, self.signal, reason, self.lost, self.out_bytes,
         self.err_bytes, self.dropped,
         self.ms) = struct.unpack('<iBBBQQQq', data[:39])
        self.reason = REASONS[reason]
        self.out, self.err = out, err

    @property
    def stdout(self):
        return self.out.decode(errors='replace')

    @property
    def stderr(self):
        return self.err.decode(errors='replace')

    def __repr__(self):
        return (f'<{self.reason} {self.code} out={self.stdout[-600:]!r}'
                f' err={self.stderr[-600:]!r}>')


def put_start(id_, argv, kind=CALL, flags=ATTACH, *, timeout_ms=0,
              grace_ms=0, ring=0, user='', cwd='', env=(), stdin=b'',
              session=''):
    return (text(id_) + struct.pack('<BIQIQ', kind, flags, timeout_ms,
                                    grace_ms, ring) +
            text(user) + text(cwd) + texts(argv) + texts(env) + text(stdin) +
            text(session))


def get_event(payload):
    """(seq, kind, data)"""
    seq, kind, _, size = struct.unpack('<QBqI', payload[:21])
    return seq, kind, payload[21:21 + size]


def collect(wire, timeout=PATIENCE_S):
    """Read events up to END."""
    out, err = b'', b''
    deadline = time.monotonic() + timeout
    while True:
        kind, _, payload = wire.recv(max(0.01, deadline - time.monotonic()))
        if kind == REFUSED:
            raise Refused(payload)
        if kind != EVENT:
            continue
        _, what, data = get_event(payload)
        if what == OUT:
            out += data
        elif what == ERR:
            err += data
        elif what == END:
            return Ended(out, err, data)


class Sandbox:
    def __init__(self, stack, id_=None):
        self.stack = stack
        self.id = id_ or new_id()

    def keeper(self):
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.connect(f'{self.stack.run}/keepers/{self.id}.sock')
        except OSError:
            sock.close()
            raise
        return Wire(sock)

    def start(self, argv, id_=None, **how):
        """A connection on which the execution was asked for."""
        wire = self.keeper()
        wire.id = id_ or f'x{next(numbers)}'
        wire.send(KM_START, 1, put_start(wire.id, argv, **how))
        return wire

    def run(self, argv, wait=PATIENCE_S, **how):
        with self.start(argv, **how) as wire:
            return collect(wire, wait)

    def sh(self, command, **how):
        return self.run(['/bin/bash', '-c', command], **how)

    def ask(self, kind, payload=b''):
        with self.keeper() as wire:
            return wire.ask(kind, payload)

    def kill(self, id_, grace_ms=0, reason=REASONS.index('killed')):
        return self.ask(KM_KILL, text(id_) +
                        struct.pack('<IB', grace_ms, reason))

    def pids(self):
        """(keeper, init) as the broker noted them."""
        with open(f'{self.stack.run}/sandboxes/{self.id}',
                  encoding='ascii') as file:
            words = file.read().split()
        return int(words[1]), int(words[3])

    def slot(self):
        with open(f'{self.stack.run}/sandboxes/{self.id}',
                  encoding='ascii') as file:
            return int(file.read().split()[0])

    def destroy(self):
        return self.stack.broker(DESTROY, self.id)


class Stack:
    """warrend with a data and a run directory of its own."""

    flow = 0  # of what it is asked for: whose sandbox it is

    def __init__(self, keep_log=False):
        need_root()
        self.name = f'warren-t{os.getpid()}-{next(numbers)}'
        self.run = f'/run/{self.name}'
        self.data = tempfile.mkdtemp(prefix='warren-abuse-')
        os.chmod(self.data, 0o755)
        self.log = open(os.path.join(self.data, 'log'), 'a+b')
        os.mkdir(os.path.join(self.data, 'images'), 0o755)
        # Links where that can be: nobody writes to an image.
        to = os.path.join(self.data, 'images', 'host')
        same = os.stat(IMAGE).st_dev == os.stat(self.data).st_dev
        subprocess.run(['cp', '-al' if same else '-a', IMAGE, to], check=True)
        db = os.path.join(self.data, 'db')
        os.mkdir(db, 0o750)
        shutil.chown(db, 'warren', 'warren')
        subprocess.run([f'{BIN}/warren', '--data', self.data, 'migrate'],
                       check=True, user='warren', group='warren',
                       extra_groups=[], stdout=subprocess.DEVNULL)
        self.process = None
        self.start()

    def start(self, wait=True):
        read, write = os.pipe()
        self.process = subprocess.Popen(
            [f'{BIN}/warrend', '--data', self.data, '--run', self.run,
             '--workers', '1'],
            stdin=subprocess.DEVNULL, stdout=write, stderr=self.log)
        os.close(write)
        if wait and os.read(read, 64) != b'warrend ready\n':
            raise AssertionError('warrend does not start: ' + self.said())
        os.close(read)

    def said(self):
        self.log.flush()
        with open(self.log.name, encoding='utf-8', errors='replace') as file:
            return file.read()

    def kill(self):
        """kill -9 warrend."""
        self.process.kill()
        self.process.wait()

    def makers(self):
        """The pids of all that makes something ahead for the broker."""
        pid = self.process.pid
        with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
            children = file.read().split()
        found = []
        for child in children:
            with open(f'/proc/{child}/cmdline', 'rb') as file:
                words = file.read().split(b'\0')
            if (words[0] == b'warren-maker' or
                    b''.join(words[1:2]).startswith(b'template')):
                found.append(int(child))
        return found

    def stop(self):
        """SIGTERM; True when it ended well."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.process.returncode == 0

    def mounts(self):
        """What is mounted below its run directory, the last first."""
        with open('/proc/self/mountinfo', encoding='utf-8') as file:
            points = [line.split()[4] for line in file]
        return [point for point in reversed(points)
                if point.startswith(self.run + '/')]

    def close(self):
        ended = self.stop()
        said = self.said()
        self.log.close()
        # A broker that died has left its mounts.
        for point in self.mounts():
            subprocess.run(['umount', '-l', point], check=False)
        subprocess.run(['rm', '-rf', self.data, self.run], check=True)
        for dir_ in glob.glob(f'/sys/fs/cgroup/*/{self.name}'):
            try:
                os.rmdir(dir_)
            except OSError:
                pass
        for sign in ('AddressSanitizer', 'runtime error:', 'bug: '):
            if sign in said:
                raise AssertionError(said)
        if not ended:
            raise AssertionError('warrend did not end well: ' + said)

    def connect(self):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sock.settimeout(PATIENCE_S)
        sock.connect(self.run + '/broker.sock')
        return sock

    @staticmethod
    def request(kind, id_='', *, image='host', memory=256 * MIB, cpu=2000,
                pids=256, magic=MAGIC, cookie=7, rest=b'', flow=0):
        return struct.pack('<IIQ32s32sQII48sQ', magic, kind, cookie,
                           id_.encode(), image.encode(), memory, cpu, pids,
                           rest, flow)

    def broker(self, kind, id_='', **how):
        """The code of the answer, as a word."""
        with self.connect() as sock:
            sock.send(self.request(kind, id_, **{'flow': self.flow, **how}))
            answer = sock.recv(100)
        if not answer:
            raise Broken
        return ERRORS[struct.unpack('<IIQII', answer)[3]]

    def sandbox(self, id_=None, **how):
        sandbox = Sandbox(self, id_)
        answer = self.broker(START, sandbox.id, **how)
        if answer != 'none':
            raise AssertionError(f'START: {answer}: {self.said()}')
        return sandbox


class Case(unittest.TestCase):
    """One stack for all cases of a class. After each case the broker and a
    sandbox answer still."""

    stack = None
    limits = {}

    @classmethod
    def setUpClass(cls):
        cls.stack = Stack()
        cls.addClassCleanup(cls.stack.close)
        cls.box = cls.stack.sandbox(**cls.limits)

    def tearDown(self):
        self.assertIsNone(self.stack.process.poll(), self.stack.said())
        self.assertEqual(self.stack.broker(PING), 'none')
        self.assertEqual(self.box.sh('echo alive').stdout, 'alive\n')

    def both(self, script, *args, sandbox=None, wait=PATIENCE_S):
        """Run a guest program as root and as user sandbox; it must print
        nothing and end with 0."""
        for user in ('root', 'sandbox'):
            with self.subTest(user=user):
                done = self.guest(script, *args, user=user,
                                  sandbox=sandbox, wait=wait)
                self.assertEqual((done.code, done.stdout), (0, ''), done)

    def guest(self, script, *args, user='root', sandbox=None, **how):
        return (sandbox or self.box).run(
            ['python3', '-c', GUARD + script, *args], user=user,
            timeout_ms=(PATIENCE_S - 10) * 1000, cwd='/tmp', **how)


# What every guest program begins with. Such programs would do harm to the
# machine itself: they refuse to run in the first user namespace.
GUARD = r'''
import ctypes, errno, os, sys
with open('/proc/self/uid_map') as map_:
    if len(map_.read().split()) != 3 or \
       open('/proc/self/uid_map').read().split()[1] == '0':
        sys.exit('not in a sandbox: nothing was tried')
libc = ctypes.CDLL(None, use_errno=True)
page = ctypes.create_string_buffer(65536)

def call(number, *args):
    """0, or the errno by name."""
    args = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *args)
    if result != -1:
        return result
    return errno.errorcode.get(ctypes.get_errno(), str(ctypes.get_errno()))

def refused(name, got, *allowed):
    """Say so when ${got} is no refusal."""
    if got not in (allowed or ('EPERM',)):
        print(name, got)

def opens(path, flags=os.O_RDONLY):
    """The open descriptor, or the errno by name."""
    try:
        return os.open(path, flags)
    except OSError as e:
        return errno.errorcode[e.errno]

def apart(fn):
    """Run fn in a child; what became of it (exit code, minus a signal)."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            fn()
            sys.stdout.flush()
        except BaseException as e:
            print('raised', repr(e), flush=True)
            os._exit(99)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
'''
