"""Runs in the zygote itself, so that its children find all paths trodden.

The interpreter writes what it learns into the code it runs, and a page that
a child writes to is copied: 5 ms of a first run are that. All that a run
leaves behind is taken back. A spare child does the same for itself, from its
BEGIN to a DONE: then nothing is left to be copied when its context comes.
"""

import gc
import io
import os
import socket
import sys

from . import child, protocol, warm
from .kernel import tenants_path

ROUNDS, AHEAD = 16, 6
AHEAD_CELLS = "1 + 1", "print('x')\n1"  # each has one value
# No home: what a tenant has there is read once, and later.
ENVIRON = (b"HOME=/nonexistent", b"USER=root", b"LOGNAME=root",
           b"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
           b"LANG=C.UTF-8", b"SHELL=/bin/bash", b"TERM=dumb")
CELLS = (
    "1 + 1",
    "print('x')",
    "import numpy as np; np.arange(3)",
    "import pandas as pd; pd.DataFrame({'a': [1, 2]})",
    "x = [1, 2]\nfor y in x:\n    x[0] += y\nx",
    "1 / 0",
    "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()",
)


class _Control:
    """Stands for the socket: what is sent is made, and dropped."""

    forked = False

    def send(self, kind, tag, obj):
        protocol.HEAD.pack(len(protocol.encode(kind, obj)), kind, 0, tag, 0)


def ahead(kernel):
    """In a spare child: its own copies of what any run writes to.

    All as it will be, but for a socket of our own and no output.
    """
    from json import dumps
    names, path = dict(kernel.shell.ns), list(sys.path)
    ours, theirs = socket.socketpair()
    outputs = [os.dup(fd) for fd in (1, 2)]
    null = os.open(os.devnull, os.O_WRONLY)
    for fd in (1, 2):
        os.dup2(null, fd)
    kernel.attach(ours.fileno())
    kernel.settle()
    for tag in range(1, AHEAD + 1):
        child.environ(ENVIRON)
        os.chdir("/")
        child.could_begin()
        kernel.ready()
        tenants_path()
        code = {"code": AHEAD_CELLS[tag % len(AHEAD_CELLS)]}
        theirs.sendall(_frame(protocol.RUN, tag, dumps(code))
                       + _frame(protocol.ACK, tag, ""))
        kernel.turn()
        theirs.recv(1 << 16)
    sys.path[:] = path
    kernel.shell.forget(names)
    for fd, kept in zip((1, 2), outputs):
        os.dup2(kept, fd)
    for fd in (null, *outputs):
        os.close(fd)
    ours.close()
    theirs.close()
    kernel.shell.loop()
    gc.collect()


def _frame(kind, tag, text):
    payload = text.encode()
    return protocol.HEAD.pack(len(payload), kind, 0, tag, 0) + payload


def run(kernel, rounds=ROUNDS, cells=CELLS):
    """Run the usual kinds of cells; leaves the kernel as it was."""
    from json import dumps
    shell = kernel.shell
    names = dict(shell.ns)
    streams = sys.stdout, sys.stderr
    kernel.control = kernel.display.control = _Control()
    kernel._start_flushing = lambda: None
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    try:
        for turn in range(rounds):
            for code in cells if turn in (0, rounds - 1) else cells[:3]:
                kernel._run(1, dumps({"code": code}).encode())
            warm.refresh(kernel)
            child.could_begin()
    finally:
        sys.stdout, sys.stderr = streams
        del kernel._start_flushing
        kernel.control = kernel.display.control = None
        shell.forget(names)
