"""swap.py dirs|files TOP TARGET PAIRS: until TOP.stop is there, swap as fast
as it goes: in TOP, a directory (or a file) "a0" and a link "b0" to TARGET, "a1"
and "b1", and so on, there and back. What was replaced is made anew; all of it
when TOP is gone. In a sandbox."""
import ctypes
import os
import shutil
import sys

libc = ctypes.CDLL(None)
kind, top, target, pairs = *sys.argv[1:4], int(sys.argv[4])
EXCHANGE = 2
AT_FDCWD = -100


def make_one(place, number):
    one, other = f'{place}/a{number}', f'{place}/b{number}'
    if kind == 'dirs' and not os.path.lexists(one):
        os.mkdir(one)
        one += '/f'
    if not os.path.lexists(one):
        with open(one, 'w', encoding='utf-8') as file:
            file.write('inside')
    if not os.path.islink(other):
        os.symlink(target, other + '.new')
        os.rename(other + '.new', other)


def make():
    """All of it at once: who removes it does not meet who makes it."""
    new = top + '.new'
    shutil.rmtree(new, ignore_errors=True)
    os.mkdir(new)
    for number in range(pairs):
        make_one(new, number)
    os.rename(new, top)


names = [(f'{top}/a{number}'.encode(), f'{top}/b{number}'.encode())
         for number in range(pairs)]
swap = libc.renameat2
while not os.path.exists(top + '.stop'):
    if not os.path.exists(top):
        make()
    for _ in range(4):
        for a, b in names:
            swap(AT_FDCWD, a, AT_FDCWD, b, EXCHANGE)
            swap(AT_FDCWD, a, AT_FDCWD, b, EXCHANGE)
    if kind == 'files':  # the link itself may have been replaced
        for number in range(pairs):
            make_one(top, number)
