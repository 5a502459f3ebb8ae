"""tree_ops.py TOP SEED COUNT: that many random changes of a tree.

Names are few, so that they meet: what was deleted comes again as something
else, directories move into others and out of TOP.
"""
import os
import random
import shutil
import sys

top, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
outside = top + ".outside"
rng = random.Random(seed)
os.makedirs(outside, exist_ok=True)


def path(root=top):
    depth = rng.randint(1, 4)
    return os.path.join(root, *(rng.choice("abc") for _ in range(depth)))


def write():
    with open(path(), "a") as f:
        f.write(str(rng.random()))


def replace():
    new = path()
    with open(new + ".tmp", "w") as f:
        f.write(str(rng.random()))
    os.rename(new + ".tmp", new)


def make():
    os.makedirs(path())


def remove():
    p = path()
    if os.path.isdir(p):
        shutil.rmtree(p)
    else:
        os.unlink(p)


def move():
    os.rename(path(), path())


def leave():
    os.rename(path(), path(outside))


def come():
    os.rename(path(outside), path())


def fill():
    p = path(rng.choice([top, outside]))
    os.makedirs(os.path.join(p, "a", "b"), exist_ok=True)
    with open(os.path.join(p, "a", "b", "c"), "w") as f:
        f.write(str(rng.random()))


steps = [write, write, replace, make, make, remove, move, move, leave, come,
         fill, fill]
for _ in range(count):
    try:
        rng.choice(steps)()
    except OSError:
        pass
