"""A zygote's life: warm, tested, then one fork after another.

All that needs power is in libwarren-enter. What is allocated here before the
first fork is shared by all children, so it is made once and frozen.
"""

import ctypes
import gc
import os

from . import child, rehearse, selftest


class Zygote:
    """Around libwarren-enter; see its header, sandbox/enter.h."""

    def __init__(self, kernel, library):
        self.kernel = kernel
        # PyDLL: the interpreter's lock stays ours over the fork.
        self.enter = ctypes.PyDLL(library)

    def run(self):
        """Serve. Returns in a forked child; ends when the broker is gone."""
        if self.enter.enter_open() < 0:
            raise SystemExit("zygote: not started by the broker")
        warm_up(self.kernel)
        selftest.run(self.kernel)
        gc.collect()
        gc.freeze()
        _check_files()
        self.enter.enter_collapse()
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
                if self.enter.enter_show() < 0:
                    os._exit(126)
                return
            parent()
        os._exit(0)


def warm_up(kernel):
    kernel.warm()
    child.prepare()
    rehearse.run(kernel)
    child.prepare()


def fork_alone(kernel):
    """Return in a child that entered nothing; end as it ends."""
    warm_up(kernel)
    pid = os.fork()
    if pid == 0:
        return
    for fd in (1, 2, 3):
        os.close(fd)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status) & 0xff)


def _check_files():
    """A library's open file would be another file in the children."""
    for name in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # that of the listing itself
        if int(name) > 3 and not path.startswith("pid:"):
            raise SystemExit(f"zygote: {path} is left open")
