"""What a forked kernel does first: it is confined already, and nothing else.

It begins with the cwd and the environment of its BEGIN frame. One that
cannot be what an exec'd kernel would be ends before READY: it is started by
exec then.
"""

import io
import os
import re
import select
import sys

from .protocol import BEGIN, HEAD

NOT_ME = 75

# What is read at the start of the interpreter or of a library that is loaded
# already: a forked kernel would not heed it.
EARLY = re.compile(r"LD_|MALLOC_|GLIBC_|LC_|LANGUAGE$|MPL|NPY_|NUMPY_|OPENBLAS_"
                   r"|OMP_|GOTO_|MKL_|IPYTHON|JUPYTER|PANDAS_|PYTHONHOME$"
                   r"|PYTHONMALLOC$|SSL_|OPENSSL_")
LANG = "C.UTF-8"

# Of the packages that are loaded: where each is, what its first file was, and
# the directories in which another of that name would come first.
_loaded, _stamps, _places = {}, [], []


def prepare():
    """In the zygote: remember which packages are loaded, and from where."""
    _close_files()
    for known in (_loaded, _stamps, _places):
        known.clear()
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if "." in name or not path or "-packages" not in path:
            continue
        home = os.path.dirname(path)
        if os.path.basename(path).startswith("__init__."):
            home = os.path.dirname(home)
        _loaded[name] = home
        _stamps.append((path, _stamp(path)))
    places = [place for place in sys.path if "-packages" in place]
    last = max(map(places.index, _loaded.values()))
    _places.extend(places[:last])


def _close_files():
    """Those that libraries keep: their numbers mean others in a child."""
    fonts = sys.modules.get("matplotlib.font_manager")
    if fonts is not None:
        fonts._get_font.cache_clear()
    tools = sys.modules.get("IPython.utils.io")
    if tools is not None:
        tools.devnull.close()
        tools.devnull = io.StringIO()


def _stamp(path):
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def run(kernel, fd):
    """Become a context's kernel; does not return."""
    spare = not select.select([fd], [], [], 0)[0]
    _signals()
    stdio()
    if spare:
        from . import rehearse  # there is time
        rehearse.ahead(kernel)
    payload = _begin_frame(fd)
    if payload is None:
        os._exit(0)
    cwd, *entries = payload.split(b"\0")[:-1]
    environ(entries)
    try:
        os.chdir(cwd)
    except OSError:
        os._exit(NOT_ME)
    if not could_begin():
        os._exit(NOT_ME)
    kernel.attach(fd)
    kernel.ready()
    if not spare:
        kernel.settle()
    kernel.work()


def _begin_frame(fd):
    head = _read(fd, HEAD.size)
    if head is None:
        return None
    size, kind, _fds, _tag, _zero = HEAD.unpack(head)
    return _read(fd, size) if kind == BEGIN else None


def _read(fd, size):
    data = b""
    while len(data) < size:
        try:
            part = os.read(fd, size - len(data))
        except ConnectionError:
            return None
        if not part:
            return None
        data += part
    return data


def environ(entries):
    os.environ.clear()
    for entry in entries:
        name, _, value = entry.partition(b"=")
        if name:
            os.environb[name] = value


def could_begin():
    """Whether this kernel is what an exec'd one would be."""
    return not (_reads_early() or _is_shadowed())


def _reads_early():
    return (os.environ.get("LANG", LANG) != LANG
            or any(EARLY.match(name) for name in os.environ))


def _is_shadowed():
    """Whether the sandbox has its own version of something loaded.

    Packages in places that come before the image's, or that replaced those.
    What is in a package may change unseen, if its first file does not.
    """
    version = "python%d.%d" % sys.version_info[:2]
    places = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    places.append(os.path.join(os.path.expanduser("~"), ".local", "lib",
                               version, "site-packages"))
    places += _places
    for place in filter(None, places):
        try:
            names = os.listdir(place)
        except OSError:
            continue
        for name in names:
            if _loaded.get(name.partition(".")[0], place) != place:
                return True
    return any(_stamp(path) != stamp for path, stamp in _stamps)


def _signals():
    """As after an interpreter's start; SIGINT is serve()'s."""
    import _signal
    for name in ("SIGPIPE", "SIGXFSZ"):
        _signal.signal(getattr(_signal, name), _signal.SIG_IGN)
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def stdio():
    """Streams made anew: the zygote's knew other files at 0, 1 and 2."""
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"),
                           (2, "stderr", "w")):
        stream = io.open(fd, mode, encoding="utf-8", closefd=False,
                         errors="backslashreplace" if fd == 2 else "strict")
        stream.mode = mode
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
