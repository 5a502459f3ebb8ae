"""What the machine sees of a sandbox, for attempts to compare with."""
import glob
import hashlib
import os


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
