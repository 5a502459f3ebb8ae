"""What the machine sees of a sandbox, for attempts to compare with."""
import glob
import hashlib
import os
import re
import time

# Of 0.15 s: how long it may take to settle, and how long that must last.
SETTLE_STEPS = 200
SETTLED_STEPS = 10


def checksum(path):
    with open(path, 'rb') as file:
        return hashlib.sha256(file.read()).hexdigest()


def cgroups(sandbox, pattern=''):
    """Its cgroups in every hierarchy; with 'e*' those of executions."""
    return [path for top in ('/sys/fs/cgroup', '/sys/fs/cgroup/*',
                             sandbox.stack.run + '/cgroup*')
            for path in glob.glob(
                f'{top}/{sandbox.stack.name}/{sandbox.id}/{pattern}')]


def leaves(sandbox):
    """The cgroups of executions that are there."""
    return cgroups(sandbox, 'e*')


def fds(pid):
    """{number: what it leads to} of a process."""
    found = {}
    for name in os.listdir(f'/proc/{pid}/fd'):
        try:
            found[int(name)] = os.readlink(f'/proc/{pid}/fd/{name}')
        except FileNotFoundError:
            pass
    return found


def count_fds(pid):
    return len(os.listdir(f'/proc/{pid}/fd'))


def family(pid):
    """${pid} and all that descend from it."""
    parents = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/stat', encoding='latin-1') as file:
                    parents[int(name)] = int(
                        file.read().rsplit(')', 1)[1].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                pass
    found, more = set(), {pid}
    while more:
        found |= more
        more = {child for child, parent in parents.items()
                if parent in more} - found
    return found


def namespaces(pids):
    """What namespaces these processes are in or hold, by their links."""
    found = set()
    for pid in pids:
        for path in glob.glob(f'/proc/{pid}/ns/*') + \
                glob.glob(f'/proc/{pid}/fd/*'):
            try:
                link = os.readlink(path)
            except OSError:
                continue
            if re.match(r'[a-z]+:\[\d+\]$', link) and \
                    not link.startswith(('socket', 'pipe')):
                found.add(link)
    return found


def loops(folder):
    """Loop devices whose image lies below ${folder}."""
    found = []
    for path in glob.glob('/sys/block/loop*/loop/backing_file'):
        try:
            with open(path, encoding='utf-8') as file:
                if file.read().startswith(folder):
                    found.append(path.split('/')[3])
        except OSError:
            pass
    return found


# The machine's own counts of namespaces: others use them too.
SLABS = ('net_namespace', 'user_namespace', 'pid_namespace', 'uts_namespace')


def slabs():
    with open('/proc/slabinfo', encoding='ascii') as file:
        rows = [line.split() for line in file]
    return {row[0]: int(row[1]) for row in rows if row[0] in SLABS}


def named_s(path):
    try:
        return sorted(n for n in os.listdir(path) if n.startswith('s'))
    except FileNotFoundError:
        return []


def counts(stack):
    """What sandboxes take, of the broker and of the machine. Of its helpers
    only what they hold together: they come and go."""
    pid = stack.process.pid
    with open(f'/proc/{pid}/mountinfo', encoding='ascii') as file:
        mounts = sum(stack.name in line or stack.data in line
                     for line in file)
    pids = family(pid)
    return {
        'fds': count_fds(pid),
        'mounts': mounts,
        'family': len(pids),
        'namespaces': len(namespaces(pids)),
        'notes': named_s(stack.run + '/sandboxes'),
        'sockets': named_s(stack.run + '/keepers'),
        'files': named_s(stack.data + '/sandboxes'),
        'trash': [n for n in os.listdir(stack.data + '/sandboxes')
                  if n.startswith('trash')],
        'cgroups': [named_s(f'/sys/fs/cgroup/{part}/{stack.name}')
                    for part in ('', 'unified', 'memory', 'pids', 'cpu')],
        'loops': len(loops(stack.data)),
    }


def settled(stack, want=None):
    """Counts, once nothing moves and the berths are ready again: what is just
    being made is not to be counted as there."""
    last, same = None, 0
    for _ in range(SETTLE_STEPS):
        now = counts(stack)
        same = same + 1 if now == last and not now['trash'] else 0
        if now == want or (want is None and same == SETTLED_STEPS):
            return now
        last = now
        time.sleep(0.15)
    return last
