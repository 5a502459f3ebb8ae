"""Runs in the zygote itself, so that its children find all paths trodden.

The interpreter writes what it learns into the code it runs, and a page that
a child writes to is copied: 5 ms of a first run are that. All that a run
leaves behind is taken back.
"""

import io
import sys

from . import child, protocol, warm

ROUNDS = 16
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


def once(kernel):
    """In a spare child: its own copies of what any run writes to."""
    run(kernel, 1, CELLS[:2])


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
