"""IPython, when a cell wants it.

Our publisher and display hook, no history file, no pexpect: commands run on
our own stdout and stderr, so their output comes live and in order.
"""

import os
import re
import sys

SPECIAL = re.compile(r"^\s*(?:[%!?]|>>> |In \[)|\?\s*$|=\s*[%!]", re.M)
# One-line cells that IPython takes for a magic without its %.
BARE = re.compile(r"(pip|conda|cd|ls|ll|cat|cp|mv|rm|mkdir|rmdir|pwd|man|less"
                  r"|who|whos|time|timeit|run|history|env)(\s+[^=\s(.,\[]|$)")

# Names that IPython would set anew.
KEPT = ("In", "Out", "get_ipython", "_", "__", "___")


def looks_special(code):
    """Whether code that is not Python may be IPython's syntax."""
    return SPECIAL.search(code) is not None


def is_wanted(code, ns):
    """Whether code is one line that only means something as a magic."""
    code = code.strip()
    if len(code) > 4096 or "\n" in code:
        return False
    match = BARE.match(code)
    return match is not None and match.group(1) not in ns


def attach(shell):
    """shell's IPython, made at the first call; None if it is missing."""
    if shell.ipython is None:
        try:
            import IPython  # noqa: F401 (our import hook calls back here)
            from IPython.core.interactiveshell import InteractiveShell
        except ImportError:
            return None
        if shell.ipython is None:
            shell.ipython = _make(shell, InteractiveShell)
    return shell.ipython


def _make(shell, base):
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from traitlets import Type
    from traitlets.config import Config

    class Hook(DisplayHook):
        def __call__(self, result=None):
            if result is not None:
                shell.show(result, display=False)

    class Publisher(DisplayPublisher):
        def publish(self, data, metadata=None, source=None, **kwargs):
            shell.show.__self__.publish(data)

        def clear_output(self, wait=False):
            """Results that were sent stay."""

    class WarrenShell(base):
        displayhook_class = Type(Hook)
        display_pub_class = Type(Publisher)

        def system(self, cmd):
            run_command(self, self.var_expand(cmd, depth=1))

        def enable_matplotlib(self, gui=None):
            import matplotlib.pyplot  # noqa: F401
            return None, "inline"

        def enable_gui(self, gui=None):
            """No windows here."""

        def showtraceback(self, exc_tuple=None, **kwargs):
            exc = (exc_tuple or sys.exc_info())[1]
            if shell.failed is None:
                shell.error(exc)
            else:  # one form of a value: see Display._format
                shell.failed.append(exc)

        def showsyntaxerror(self, *args, **kwargs):
            shell.error(sys.exc_info()[1])

        def ask_exit(self):
            raise SystemExit

    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.PlainTextFormatter.pprint = False
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.xmode = "Plain"
    saved = {name: shell.ns[name] for name in KEPT if name in shell.ns}
    hooks = sys.displayhook, sys.excepthook
    ipython = WarrenShell.instance(user_module=shell.module,
                                   user_ns=shell.ns, config=config)
    sys.displayhook, sys.excepthook = hooks
    for name in ("exit", "quit"):
        shell.ns.pop(name, None)
    shell.ns.update(saved, _ih=shell.inputs, _oh=shell.outputs)
    history = ipython.history_manager
    history.input_hist_parsed = history.input_hist_raw = shell.inputs
    history.output_hist = shell.outputs
    for name in shell.hidden:
        ipython.user_ns_hidden[name] = shell.ns.get(name)
    _replace_display(shell, ipython, Publisher)
    return ipython


def _replace_display(shell, ipython, publisher):
    """IPython's display() with our charts, tables and pictures."""
    import builtins
    import IPython.display
    from IPython.core import display_functions
    plain = display_functions.display

    def display(*values, **options):
        if options or type(ipython.display_pub) is not publisher:
            return plain(*values, **options)  # captured, updated, raw
        for value in values:
            shell.show(value)

    display.__doc__ = plain.__doc__
    for place in (builtins, IPython.display, display_functions):
        place.display = display
    from .figures import png
    ipython.display_formatter.formatters["image/png"].for_type_by_name(
        "matplotlib.figure", "Figure", png)


def run_command(ipython, command):
    """Run a shell command on our own stdout and stderr."""
    import subprocess
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    code = subprocess.call(["/bin/sh", "-c", command],
                           stdin=subprocess.DEVNULL)
    os.environ.setdefault("PATH", os.defpath)
    ipython.user_ns["_exit_code"] = code
