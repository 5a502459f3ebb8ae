"""A child is not read or written before it runs: until it execs, it may be in
init's memory, with the ids of its program."""
import stack

TIMES = 30


def attempt(self):
    box = self.stack.sandbox()
    hunter = box.start(['python3', '-c', stack.GUARD + r'''
import signal
print('begun', flush=True)
last = os.getpid()

def comm(pid):
    try:
        with open(f'/proc/{pid}/comm') as f:
            return f.read().strip()
    except OSError:
        return ''

def read(pid):
    got = []
    for name in ('mem', 'maps', 'environ', 'auxv', 'syscall', 'fd', 'root'):
        path = f'/proc/{pid}/{name}'
        try:
            if os.path.isdir(path):
                os.listdir(path)
            else:
                with open(path, 'r+b' if name == 'mem' else 'rb') as f:
                    if name != 'mem' and not f.read(1):
                        continue
            got.append(name)
        except OSError:
            pass
    return got

while True:
    for pid in range(last + 1, last + 6):
        try:
            os.kill(pid, signal.SIGSTOP)
        except ProcessLookupError:
            continue
        last = pid
        before = comm(pid)
        got = read(pid)
        if before == 'warren-init' and comm(pid) == before:
            print('caught', ' '.join(got) or 'nothing', flush=True)
        os.kill(pid, signal.SIGCONT)
'''])
    hunter.recv()
    hunter.recv()
    for _ in range(TIMES):
        box.sh('true')
    box.kill(hunter.id)
    said = stack.collect(hunter).stdout
    hunter.sock.close()
    caught = [line for line in said.splitlines() if 'caught' in line]
    if not caught:
        print('none was caught before its exec')
    for line in caught:
        self.assertEqual(line, 'caught nothing')
    self.assertEqual(box.sh('echo on').stdout, 'on\n')
    box.destroy()
