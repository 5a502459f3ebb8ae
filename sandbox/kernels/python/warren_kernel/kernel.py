"""The kernel: one context's loop over runs.

A zygote makes a Kernel, calls warm(), forks, and calls serve(fd) in the
child; the program kernel.py calls serve(3) at once.
"""

import builtins
import os
import sys
import time
import _signal
from _thread import allocate_lock, start_new_thread

from . import errors, protocol
from .display import Display
from .figures import Figures, on_fonts
from .hooks import Hooks
from .shell import Shell
from .stdin import Stdin

FLUSH_S = 0.05

_current = None


def current():
    """The process's kernel."""
    return _current


class Kernel:
    """What lives as long as the context does."""

    def __init__(self):
        global _current
        _current = self
        self.shell = Shell()
        self.display = Display(self.shell)
        self.figures = Figures(self.display)
        self.stdin = Stdin()
        self.control = None
        self._shield = protocol.Shield()
        self._busy = False
        self._gate = None
        self._warm = False
        self.shell.show = self.display.show
        self.shell.error = self._send_error
        self._install_names()
        self._install_hooks()

    def _install_names(self):
        builtins.display = self.display.display
        builtins.exit = builtins.quit = _exit
        sys.displayhook = self._displayhook
        sys.modules["__main__"] = self.shell.module
        sys.argv = [""]

    def _displayhook(self, value):
        if value is not None:
            self.display.show(value, display=False)

    def _install_hooks(self):
        hooks = Hooks()
        hooks.add("matplotlib", self.figures.on_import)
        hooks.add("matplotlib.axes", _on_axes)
        hooks.add("matplotlib.font_manager", on_fonts)
        hooks.add("plotly.io", _on_plotly)
        hooks.add("IPython", lambda _module: self.shell.get_ipython())
        hooks.add("linecache", self.shell.on_linecache)

    def warm(self):
        """Load what tenants use most, so that forked children have it."""
        from . import warm
        warm.load(self)
        self._warm = True

    def serve(self, fd):
        """Take runs from the socket until it ends; does not return."""
        self.attach(fd)
        self.ready()
        self.settle()
        self.work()

    def attach(self, fd):
        """Have frames come and go on fd from now on."""
        _signal.signal(_signal.SIGINT, self._shield.interrupt)
        if isinstance(self.control, protocol.Control):
            self.control.move(fd)
            return
        self.control = self.display.control = protocol.Control(
            fd, self._shield)

    def ready(self):
        self.control.send(protocol.READY, 0, {
            "language": "python",
            "version": "%d.%d.%d" % sys.version_info[:3]})

    def settle(self):
        """What no run may come before, and READY need not wait for."""
        if self._warm:
            from . import warm
            warm.refresh(self)
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace",
                               line_buffering=True)

    def work(self):
        tenants_path()
        while True:
            self.turn()

    def turn(self):
        """Take one frame."""
        frame = self.control.read()
        if frame is None:
            self.control.flush()
            os._exit(0)
        if frame[0] == protocol.RUN:
            self._run(frame[1], frame[2])

    # One run

    def _run(self, tag, payload):
        from json import loads
        request = loads(payload)
        self.display.tag = tag
        self._start_flushing()
        error = None
        undo = []
        try:
            try:
                self._enter(request, undo)
                self._shield.armed = True
                if self._shield.early:
                    self._shield.early = False
                    if self.control.interrupted(tag):
                        raise KeyboardInterrupt
                self.shell.run(request.get("code", ""))
            finally:
                self._shield.disarm()
        except BaseException as exc:
            self._shield.disarm()
            error = exc
        self._busy = False
        if self.control.forked:
            _end_forked(error)
        self._finish(tag, error, undo)

    def _enter(self, request, undo):
        """The run's own cwd and environment, and the way back."""
        _forget_listings()
        if "asyncio" in sys.modules:
            self.shell.loop()
        for name, value in (request.get("env") or {}).items():
            if value is not None:
                undo.append((name, os.environ.get(name)))
                os.environ[name] = value
        if any(name == "TZ" for name, _ in undo):
            time.tzset()
        if request.get("cwd"):
            try:
                undo.append((None, os.getcwd()))
            except FileNotFoundError:
                pass
            os.chdir(request["cwd"])
        if request.get("stdin") is not None:
            self.stdin.give(request["stdin"])

    def _finish(self, tag, error, undo):
        """Figures, error, DONE; interrupts are over, and nothing raises."""
        try:
            self.figures.flush()
        except BaseException as exc:
            error = error or exc
        if error is not None:
            self._send_error(error)
        self.stdin.take_back()
        for name, value in reversed(undo):
            _undo(name, value)
        self.control.send(protocol.DONE, tag,
                          {"execution_count": self.shell.count})
        self.display.tag = 0

    def _send_error(self, exc):
        if self.display.tag and exc is not None:
            self.control.send(protocol.ERROR, self.display.tag,
                              errors.describe(exc))

    # Text without a newline must not wait for one.

    def _start_flushing(self):
        self._busy = True
        if self._gate is None:
            self._gate = allocate_lock()
            start_new_thread(self._flush_while_busy, ())
        elif self._gate.locked():
            self._gate.release()

    def _flush_while_busy(self):
        while True:
            while self._busy:
                time.sleep(FLUSH_S)
                for stream in (sys.__stdout__, sys.__stderr__):
                    try:
                        stream.flush()
                    except (OSError, ValueError):
                        pass
            self._gate.acquire()


def _exit(code=None):
    """exit(): ends the cell; the context lives on."""
    raise SystemExit(code)


def _end_forked(error):
    """The end of a cell in a process that the cell forked."""
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else bool(error.code)
    elif error is not None:
        sys.stderr.write("\n".join(errors.describe(error)["traceback"]) + "\n")
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(code)


def _undo(name, value):
    try:
        if name is None:
            os.chdir(value)
        elif value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
        if name == "TZ":
            time.tzset()
    except OSError:
        pass


def _forget_listings():
    """A module file that was written just now must be found."""
    for finder in sys.path_importer_cache.values():
        if hasattr(finder, "invalidate_caches"):
            finder.invalidate_caches()


def tenants_path():
    """The import path of a plain interactive python3, which -I left out."""
    extra = os.environ.get("PYTHONPATH", "")
    sys.path[:0] = [""] + [part for part in extra.split(os.pathsep) if part]
    import site
    user = os.path.join(os.path.expanduser("~"), ".local", "lib",
                        "python%d.%d" % sys.version_info[:2], "site-packages")
    if os.path.isdir(user):
        site.addsitedir(user)


def _on_axes(module):
    from . import chart
    chart.on_axes_import(module)


def _on_plotly(module):
    if "PLOTLY_RENDERER" not in os.environ:
        module.renderers.default = "plotly_mimetype"
