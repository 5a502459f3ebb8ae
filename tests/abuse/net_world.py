"""A world of network namespaces for tests of policy `internet`:

    sandboxes -- egress namespace -- host (warrend) -- world

The world has public-looking, private and metadata addresses, each with the
same servers; nothing outside these namespaces is ever asked. The host has one
more neighbour, a LAN, and services of its own."""
import contextlib
import os
import re
import struct
import subprocess
import sys
import time

import stack
from stack import DESTROY, START, Sandbox, Stack, until

LISTS, DENIALS = 5, 6
INTERNET = 1
HEAD = 152  # bytes of a request before its lists
GATEWAY = '198.51.100.1'       # the world, as the host's router
HOST = '198.51.100.2'          # the host's public address
HOST_LAN = '192.168.77.1'      # its address in its LAN
LAN = '192.168.77.9'           # a machine in that LAN
DNS = '198.51.100.53'          # the resolver that the host is told to use
PUBLIC = '203.0.113.10'
PUBLIC2 = '203.0.113.20'
NAMED = '203.0.114.10'         # dnsmasq takes 203.0.113.0/24 for private
METADATA = '169.254.169.254'
PRIVATE = ('10.1.2.3', '172.16.5.5', '172.31.255.1', '192.168.1.1',
           '100.64.0.9', '192.0.0.8', '198.18.0.7', '198.19.255.1',
           '169.254.7.7', '10.255.255.53')
RESOLVER = '169.254.53.53'
BLACKHOLE = '203.0.113.66'     # what is sent there is dropped
TCP_PORTS = (22, 25, 53, 80, 443, 465, 587, 8080)
USERS = ('root', 'sandbox')
REFUSED = 'EHOSTUNREACH'
DENIAL_WORDS = ('spoofed_source', 'gateway', 'other_sandbox', 'host',
                'private_address', 'smtp', 'other_resolver', 'denied', 'not_allowed',
                'protocol', 'connection_rate', 'connection_count')

# What runs in the world and on the host: every TCP port greets, UDP 9999 and
# 53 answer, and tell from where they were asked.
SERVER = r'''
import selectors, socket, struct, sys, threading
ports = [int(p) for p in sys.argv[1].split(',')]
names = {'ok.example': '203.0.114.10', 'rebind.example': '10.1.2.3',
         'meta.example': '169.254.169.254', 'loop.example': '127.0.0.1',
         'cgn.example': '100.64.0.9', 'lan.example': '192.168.77.1'}
s = selectors.DefaultSelector()

def dns(q):
    at, labels = 12, []
    while q[at]:
        labels.append(q[at + 1:at + 1 + q[at]].decode())
        at += 1 + q[at]
    kind = struct.unpack('>H', q[at + 1:at + 3])[0]
    question = q[12:at + 5]
    address = names.get('.'.join(labels).lower())
    if kind == 16:
        answer = b'\xc0\x0c' + struct.pack('>HHIH', 16, 1, 0, 5) + b'\4text'
    elif kind == 28 and address:
        answer = (b'\xc0\x0c' + struct.pack('>HHIH', 28, 1, 0, 16) +
                  socket.inet_pton(socket.AF_INET6, '2001:db8::1'))
    elif kind == 1 and address:
        answer = (b'\xc0\x0c' + struct.pack('>HHIH', 1, 1, 0, 4) +
                  socket.inet_aton(address))
    else:
        answer = b''
    flags = 0x8180 if address or kind == 16 else 0x8183
    return (q[:2] + struct.pack('>HHHHH', flags, 1, 1 if answer else 0, 0, 0)
            + question + answer)

def accept(sock):
    try:
        c, who = sock.accept()
    except OSError:
        return
    c.setblocking(False)
    s.register(c, selectors.EVENT_READ, lambda c: serve(c, who))

def serve(c, who):
    try:
        data = c.recv(65536)
        if data and c.getsockname()[1] == 53 and not data.startswith(b'GET'):
            answer = dns(data[2:])
            c.sendall(struct.pack('>H', len(answer)) + answer)
        elif data.startswith(b'GET /big'):
            s.unregister(c)
            threading.Thread(target=big, args=(c,), daemon=True).start()
            return
        elif data.startswith(b'GET'):
            c.sendall(('HTTP/1.0 200 OK\r\n\r\n%s:%d' % who).encode())
            data = b''
        elif data:
            c.sendall(data)
    except OSError:
        data = b''
    if not data:
        s.unregister(c)
        c.close()

def big(c):
    c.settimeout(20)
    try:
        c.sendall(b'HTTP/1.0 200 OK\r\n\r\n' + bytes(64 << 20))
    except OSError:
        pass
    c.close()

def datagram(sock):
    data, who = sock.recvfrom(65536)
    try:
        if sock.getsockname()[1] == 53:
            sock.sendto(dns(data), who)
        else:
            sock.sendto(b'%s:%d' % (who[0].encode(), who[1]), who)
    except OSError:
        pass

for port in ports:
    t = socket.socket()
    t.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    t.bind(('0.0.0.0', port))
    t.listen(4096)
    t.setblocking(False)
    s.register(t, selectors.EVENT_READ, accept)
addresses = sys.argv[2].split(',')
for port in (53, 9999):
    for address in addresses:
        u = socket.socket(type=socket.SOCK_DGRAM)
        u.bind((address, port))
        s.register(u, selectors.EVENT_READ, datagram)
print('ready', flush=True)
while True:
    for key, _ in s.select():
        key.data(key.fileobj)
'''


def sh(command, check=True):
    done = subprocess.run(['/bin/bash', '-c', command], check=False,
                          capture_output=True, text=True)
    if check and done.returncode:
        raise AssertionError(f'{command}: {done.stderr}')
    return done


def inside(namespace, *command, check=True, **how):
    return subprocess.run(
        ['nsenter', f'--net=/run/netns/{namespace}', *command], check=check,
        capture_output=True, text=True, **how)


def from_outside(namespace, address, port=8080):
    """What a machine in that namespace gets when it connects."""
    return inside(namespace, sys.executable, '-c', GUEST +
                  'print(tcp(sys.argv[1], int(sys.argv[2]), 1.0))',
                  address, str(port)).stdout.strip()


def can_run():
    """Why this machine cannot build the world; None if it can."""
    for program in ('ip', 'nft', 'nsenter', 'dnsmasq'):
        if sh(f'PATH=$PATH:/usr/sbin:/sbin command -v {program}',
              check=False).returncode:
            return f'no program {program}'
    probe = sh("unshare --net nft 'add table inet t; add chain inet t c "
               "{ type nat hook postrouting priority 0; }; add rule inet t "
               "c masquerade'", check=False)
    if probe.returncode:
        return 'no nftables with NAT in this kernel: ' + probe.stderr.strip()
    return None


class World:
    def __init__(self):
        self.tag = f'w{os.getpid() % 100000}'
        self.host = f'{self.tag}h'
        self.world = f'{self.tag}w'
        self.lan = f'{self.tag}l'
        self.servers = []
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def _build(self):
        h, w, lan = self.host, self.world, self.lan
        for ns in (h, w, lan):
            sh(f'ip netns add {ns} && ip -n {ns} link set lo up')
        sh(f'''set -e
        ip -n {h} link add out0 type veth peer name host0 netns {w}
        ip -n {h} link add lan type veth peer name host0 netns {lan}
        ip -n {h} addr add {HOST}/24 dev out0
        ip -n {h} addr add {HOST_LAN}/24 dev lan
        ip -n {w} addr add {GATEWAY}/24 dev host0
        ip -n {w} addr add {DNS}/24 dev host0
        ip -n {lan} addr add {LAN}/24 dev host0
        ip -n {h} link set out0 up; ip -n {h} link set lan up
        ip -n {w} link set host0 up; ip -n {lan} link set host0 up
        ip -n {h} route add default via {GATEWAY}
        ip -n {lan} route add default via {HOST_LAN}''')
        addresses = (PUBLIC, PUBLIC2, NAMED, METADATA) + PRIVATE
        for address in addresses:
            sh(f'ip -n {w} addr add {address}/32 dev lo')
        self._serve(w, (GATEWAY, DNS) + addresses)
        self._serve(h, (HOST, HOST_LAN))
        self._serve(lan, (LAN,))

    def _serve(self, ns, addresses):
        server = subprocess.Popen(
            ['nsenter', f'--net=/run/netns/{ns}', sys.executable, '-c',
             SERVER, ','.join(map(str, TCP_PORTS)), ','.join(addresses)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.servers.append(server)
        if server.stdout.readline() != b'ready\n':
            raise AssertionError(f'no server in {ns}')

    def close(self):
        for server in self.servers:
            server.kill()
            server.wait()
            server.stdout.close()
        for ns in (self.host, self.world, self.lan):
            sh(f'ip netns del {ns}', check=False)


class NetStack(Stack):
    """warrend on the world's host."""

    def __init__(self, world, conf=f'dns = {DNS}\n'):
        self.world = world
        self.conf = conf
        super().__init__()

    def start(self, wait=True):
        path = os.path.join(self.data, 'warren.ini')
        with open(path, 'w', encoding='ascii') as file:
            file.write('[network]\n' + self.conf)
        os.chmod(path, 0o644)
        read, write = os.pipe()
        self.process = subprocess.Popen(
            ['nsenter', f'--net=/run/netns/{self.world.host}',
             *self.prefix(), f'{stack.BIN}/warrend', '--data', self.data, '--run', self.run,
             '--workers', '1'],
            stdin=subprocess.DEVNULL, stdout=write, stderr=self.log)
        os.close(write)
        if wait and os.read(read, 64) != b'warrend ready\n':
            raise AssertionError('warrend does not start: ' + self.said())
        os.close(read)

    def prefix(self):
        """What warrend is started by."""
        return []

    @staticmethod
    def net_request(kind, id_, deny=(), allow=(), network=INTERNET,
                    memory=256 << 20, image='host', flow=0):
        def cidr(word):
            address, _, prefix = word.partition('/')
            a, b, c, d = map(int, address.split('.'))
            return struct.pack('<IB3x', a << 24 | b << 16 | c << 8 | d,
                               int(prefix or 32))

        lists = b''.join(map(cidr, (*deny, *allow)))
        head = struct.pack(
            '<IIQ32s32sQIIQIIHH28xQ', stack.MAGIC, kind, 7, id_.encode(),
            image.encode() if kind == START else b'', memory, 2000, 256, 0, 0,
            network, len(deny), len(allow), flow)
        assert len(head) == HEAD
        return head + lists.ljust(512, b'\0') if lists else head

    def ask(self, data):
        """(the error's word, the whole answer)"""
        with self.connect() as sock:
            sock.send(data)
            answer = sock.recv(4096)
        if not answer:
            raise stack.Broken
        return stack.ERRORS[struct.unpack('<IIQII', answer[:24])[3]], answer

    def open(self, deny=(), allow=(), network=INTERNET, image='host'):
        box = NetSandbox(self)
        error, _ = self.ask(self.net_request(START, box.id, deny, allow,
                                             network, image=image,
                                             flow=self.flow))
        if error != 'none':
            raise AssertionError(f'START: {error}: {self.said()}')
        return box

    # -- what the kernel holds --

    def egress(self, *command, check=True):
        return subprocess.run(
            ['nsenter', f'--net={self.run}/egress', *command], check=check,
            capture_output=True, text=True)

    def link(self):
        """The host's end."""
        out = inside(self.world.host, 'ip', '-o', 'link').stdout
        return re.search(r'(wr[0-9a-f]{8})@', out).group(1)

    def slots_up(self):
        out = self.egress('ip', '-o', 'link').stdout
        return set(map(int, re.findall(r'\bsb(\d+)@', out)))

    def elements(self, name):
        out = self.egress('nft', 'list', 'set', 'inet', 'warren', name).stdout
        found = re.search(r'elements = {(.*)}', out, re.S)
        return found.group(1).split(',') if found else []

    def flows(self, namespace=None):
        """Lines of conntrack, of the egress namespace or of a named one."""
        path = namespace and f'/run/netns/{namespace}'
        out = subprocess.run(
            ['nsenter', f'--net={path or self.run + "/egress"}', 'cat',
             '/proc/net/nf_conntrack'], check=True, capture_output=True,
            text=True).stdout
        return out.splitlines()


class NetSandbox(Sandbox):
    def start(self, argv, **how):
        return super().start(argv, **how)

    def addr(self):
        slot = self.slot()
        return f'10.218.{slot * 2 // 256}.{slot * 2 % 256 + 1}'

    def gateway(self):
        slot = self.slot()
        return f'10.218.{slot * 2 // 256}.{slot * 2 % 256}'

    def py(self, program, *args, user='root', **how):
        how.setdefault('timeout_ms', 30000)
        return self.run(['python3', '-c', GUEST + program, *args], user=user,
                        cwd='/tmp', wait=40, **how)

    def tcp(self, address, port=80, user='root', seconds=3):
        """What connecting gave: 'ok' or an errno's name."""
        return self.py('print(tcp(sys.argv[1], int(sys.argv[2]), '
                       'float(sys.argv[3])))', address, str(port),
                       str(seconds), user=user).stdout.strip()

    def udp(self, address, port=9999, user='root', seconds=1.5):
        return self.py('print(udp(sys.argv[1], int(sys.argv[2]), '
                       'float(sys.argv[3])))', address, str(port),
                       str(seconds), user=user).stdout.strip()

    def denials(self):
        """{word: packets} of what was refused at least once."""
        return {word: n for word, (n, _) in self.denials_at().items()}

    def denials_at(self):
        error, answer = self.stack.ask(self.stack.net_request(
            DENIALS, self.id, network=0))
        assert error == 'none', error
        assert len(answer) == 280, len(answer)
        of = struct.unpack('<' + 'Qq' * 16, answer[24:])
        return {DENIAL_WORDS[i]: (of[2 * i], of[2 * i + 1])
                for i in range(len(DENIAL_WORDS)) if of[2 * i]}

    def lists(self, deny=(), allow=()):
        return self.stack.ask(self.stack.net_request(
            LISTS, self.id, deny, allow, network=0))[0]


GUEST = r'''
import errno, os, select, socket, struct, sys, time

def name(e):
    return 'timeout' if isinstance(e, TimeoutError) else \
        errno.errorcode.get(e.errno, repr(e))

def tcp(address, port=80, seconds=3.0):
    """ok: somebody answered; else the errno."""
    s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET)
    s.settimeout(seconds)
    try:
        s.connect((address, port))
        s.sendall(b'GET / HTTP/1.0\r\n\r\n')
        return 'ok' if s.recv(100) else 'closed'
    except OSError as e:
        return name(e)
    finally:
        s.close()

def udp(address, port=9999, seconds=1.5, data=b'x'):
    s = socket.socket(type=socket.SOCK_DGRAM)
    s.settimeout(seconds)
    try:
        s.connect((address, port))
        s.send(data)
        return 'ok' if s.recv(1000) else 'closed'
    except OSError as e:
        return name(e)
    finally:
        s.close()
'''


ASK = r'''
def ask(name_, kind=1, server='169.254.53.53', tcp_=False, seconds=3):
    q = struct.pack('>HHHHHH', 7, 0x100, 1, 0, 0, 0) + b''.join(
        bytes([len(l)]) + l.encode() for l in name_.split('.')) + \
        b'\0' + struct.pack('>HH', kind, 1)
    s = socket.socket(type=socket.SOCK_STREAM if tcp_ else socket.SOCK_DGRAM)
    s.settimeout(seconds)
    try:
        s.connect((server, 53))
        if tcp_:
            s.sendall(struct.pack('>H', len(q)) + q)
            r = s.recv(4096)[2:]
        else:
            s.send(q)
            r = s.recv(4096)
    except OSError as e:
        return name(e)
    code, answers = r[3] & 15, struct.unpack('>H', r[6:8])[0]
    if not answers:
        return f'code {code}'
    data = r[len(q):]
    if kind == 1:
        return socket.inet_ntoa(data[12:16])
    return f'{answers} answers'
'''


@contextlib.contextmanager
def opened(net, **how):
    box = net.open(**how)
    try:
        yield box
    finally:
        net.broker(DESTROY, box.id)


class Case(stack.unittest.TestCase):
    """One world and one warrend for the cases of a class."""

    conf = f'dns = {DNS}\n'

    @classmethod
    def setUpClass(cls):
        why = can_run()
        if why:
            raise stack.unittest.SkipTest(why)
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.net = NetStack(cls.world, cls.conf)
        cls.addClassCleanup(cls.net.close)
        cls.box = cls.net.open()

    def tearDown(self):
        self.assertIsNone(self.net.process.poll(), self.net.said())
        self.assertEqual(self.net.broker(stack.PING), 'none')
        self.assertEqual(self.box.sh('echo alive').stdout, 'alive\n')

    def ask(self, name, *args, box=None, user='root'):
        """What the resolver says of ${name}; ${args} for ASK's ask()."""
        return (box or self.box).py(
            ASK + f'print(ask({name!r}, {", ".join(args)}))',
            user=user).stdout.strip()

    def connect_ms(self, box, times=10):
        """How long connecting to the world took, each time, sorted."""
        got = box.py('''
for _ in range(int(sys.argv[2])):
    began = time.monotonic()
    if tcp(sys.argv[1]) != 'ok':
        print('failed')
    print((time.monotonic() - began) * 1000)
    time.sleep(0.02)
''', PUBLIC, str(times))
        self.assertNotIn('failed', got.stdout)
        return sorted(map(float, got.stdout.split()))

    def settled(self, seconds=5):
        """Nothing of sandboxes that are gone is left."""
        def done():
            live = len(self.net.slots_up())
            return live <= self.expected_slots()
        until(seconds, 'interfaces of ended sandboxes go', done)

    def expected_slots(self):
        notes = [n for n in os.listdir(self.net.run + '/sandboxes')
                 if not n.startswith('.')]
        return len(notes) + 4


def now_ms():
    return int(time.time() * 1000)
