"""tree.py grow DIR SEED | show DIR: a random tree of files, and what a tree is:
names as bytes, types, modes, contents, links. In a sandbox."""
import hashlib
import os
import random
import stat
import sys


def name(rnd):
    kind = rnd.randrange(6)
    if kind == 0:
        raw = bytes(rnd.randrange(1, 256) for _ in range(rnd.randrange(1, 20)))
    elif kind == 1:
        raw = 'äöü世界😀'[rnd.randrange(5):].encode()
    elif kind == 2:
        raw = b'n' * rnd.randrange(90, 200)
    elif kind == 3:
        raw = rnd.choice([b'-rf', b' ', b'.hidden', b'a\nb', b'"q"', b'...'])
    else:
        raw = b'f%d' % rnd.randrange(1000)
    return raw.replace(b'/', b'_') if raw not in (b'.', b'..') else b'x'


def grow(top, rnd, depth, files):
    for _ in range(rnd.randrange(3, 9)):
        path = top + b'/' + name(rnd)
        if os.path.lexists(path):
            continue
        kind = rnd.randrange(10)
        if kind < 2 and depth < 5:
            os.mkdir(path)
            grow(path, rnd, depth + 1, files)
            os.chmod(path, rnd.choice([0o755, 0o700, 0o775]))
        elif kind == 2:
            os.symlink(rnd.choice([b'none', b'.', b'/etc', b'f1', b'\xff\xfe']),
                       path)
        elif kind == 3 and files:
            os.link(rnd.choice(files), path)
        else:
            with open(path, 'wb') as file:
                size = rnd.choice([0, 1, 511, 512, 513, 70000, 300001])
                file.write(rnd.randbytes(size))
            os.chmod(path, rnd.choice([0o644, 0o755, 0o600, 0o444]))
            os.utime(path, (rnd.randrange(1 << 31), rnd.randrange(1 << 31)))
            files.append(path)


def show(top):
    for folder, names, files in os.walk(top):
        for one in sorted(names + files):
            path = folder + b'/' + one
            info = os.lstat(path)
            what = [path[len(top):], oct(info.st_mode)]
            if stat.S_ISLNK(info.st_mode):
                what = [path[len(top):], os.readlink(path)]
            elif stat.S_ISREG(info.st_mode):
                with open(path, 'rb') as file:
                    what.append(hashlib.sha1(file.read()).hexdigest())
                what.append(int(info.st_mtime))
            print(*what)
        names.sort()


root = os.fsencode(sys.argv[2])
if sys.argv[1] == 'grow':
    os.mkdir(root)
    grow(root, random.Random(int(sys.argv[3])), 0, [])
    for number in range(12):
        grow(root, random.Random(int(sys.argv[3]) * 100 + number), 3, [])
else:
    show(root)
