"""swap.py HOST: until race/stop is there, swap as fast as it goes: a directory
and a link to out/, a file and a link to HOST, a path that only the machine has.
What was deleted is made anew. In a sandbox."""
import ctypes
import os
import sys

libc = ctypes.CDLL(None)
EXCHANGE = 2
AT_FDCWD = -100


def make():
    os.makedirs('race/t/dir', exist_ok=True)
    for path in ('race/t/dir/f', 'race/file'):
        # The link is for others to follow.
        if not os.path.islink('race/t/dir') and not os.path.lexists(path):
            with open(path, 'w', encoding='utf-8') as file:
                file.write('inside')
    for path, text in (('race/t/other', '../../out'),
                       ('race/other', sys.argv[1])):
        if not os.path.lexists(path):
            os.symlink(text, path)


while not os.path.exists('race/stop'):
    try:
        make()
    except OSError:
        pass
    for _ in range(50):
        for one, other in ((b'race/t/dir', b'race/t/other'),
                           (b'race/file', b'race/other')):
            libc.renameat2(AT_FDCWD, one, AT_FDCWD, other, EXCHANGE)
