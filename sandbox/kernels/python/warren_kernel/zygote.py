"""A zygote's life: warm, tested, then one fork after another.

All that needs power is in libwarren-enter. What is allocated here before the
first fork is shared by all children, so it is made once and frozen.
"""

import ctypes
import gc
import os
import re

from . import child, rehearse, selftest

HUGE = 2 << 20


class Zygote:
    """Around libwarren-enter; see its header, sandbox/enter.h."""

    def __init__(self, kernel, library):
        self.kernel = kernel
        # PyDLL: the interpreter's lock stays ours over the fork.
        self.enter = ctypes.PyDLL(library)
        self.enter.enter_collapse.argtypes = [ctypes.c_ulong, ctypes.c_ulong]
        self.enter.enter_collapse.restype = ctypes.c_ulong

    def run(self):
        """Serve. Returns in a forked child; ends when the broker is gone."""
        if self.enter.enter_open() < 0:
            raise SystemExit("zygote: not started by the broker")
        self.kernel.warm()
        child.prepare()
        rehearse.run(self.kernel)
        child.prepare()
        selftest.run(self.kernel)
        gc.collect()
        gc.freeze()
        _check_files()
        self._collapse()
        if self.enter.enter_ready() < 0:
            os._exit(0)
        before, parent, after = (
            ctypes.pythonapi.PyOS_BeforeFork,
            ctypes.pythonapi.PyOS_AfterFork_Parent,
            ctypes.pythonapi.PyOS_AfterFork_Child)
        wait, fork = self.enter.enter_wait, self.enter.enter_fork
        while wait() == 0:
            before()
            if fork() == 1:
                after()
                return
            parent()
        os._exit(0)

    def _collapse(self):
        """Private memory on huge pages: a fork copies fewer entries."""
        with open("/proc/self/maps", encoding="utf-8") as maps:
            lines = maps.read().splitlines()
        for line in lines:
            match = re.match(r"(\w+)-(\w+) rw.p \S+ 00:00 0 *(\[heap\])?$",
                             line)
            if match is None:
                continue
            first, last = (int(part, 16) for part in match.groups()[:2])
            if last - first >= HUGE:
                self.enter.enter_collapse(first, last)


def _check_files():
    """A library's open file would be another file in the children."""
    for name in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # that of the listing itself
        if int(name) > 3 and not path.startswith("pid:"):
            raise SystemExit(f"zygote: {path} is left open")
