"""Reads files of the host: arguments are paths that exist there only."""
import os
import sys

from guard import got, unreadable

WAYS = ('', '/proc/1/root', '/proc/1/cwd', '/proc/self/root', '/../..',
        '/proc/self/cwd/../../..')
for path in sys.argv[1:] + ['/etc/machine-id', '/etc/ssh/ssh_host_rsa_key',
                            '/etc/shadow-']:
    for way in WAYS:
        unreadable(way + path)
# The image has its own, in which nobody has a password.
for way in WAYS:
    try:
        with open(way + '/etc/shadow') as shadow:
            if any(len(line.split(':')[1]) > 1 for line in shadow):
                got('a password in ' + way + '/etc/shadow')
    except OSError:
        pass
for path in ('/boot', '/var/lib/warren', '/run/warren', '/root/.ssh', '/sys'):
    try:
        if os.listdir(path):
            got('listed ' + path)
    except OSError:
        pass
with open('/proc/self/mountinfo') as mounts:
    for line in mounts:
        if 'sandboxes' in line or 'upperdir=/var' in line:
            got('a path of the host in mountinfo: ' + line.strip())
for fd in os.listdir('/proc/self/fd'):
    if int(fd) > 2 and os.path.exists('/proc/self/fd/' + fd):
        if not os.readlink('/proc/self/fd/' + fd).startswith('/proc/'):
            got('inherited descriptor ' + fd)
