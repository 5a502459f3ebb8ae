"""A value becomes a MIME bundle, and a bundle becomes a RESULT."""

import sys
from binascii import b2a_base64

from . import protocol
from .jsonable import Unjsonable, clean, loose, strict
from .table import table_of

METHODS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_pdf_": "application/pdf",
    "_repr_latex_": "text/latex",
    "_repr_json_": "application/json",
    "_repr_javascript_": "application/javascript",
}


class Display:
    """Where results go: to the control socket while a run is on."""

    def __init__(self, shell):
        self.shell = shell
        self.control = None
        self.figures = None
        self.tag = 0

    def show(self, value, display=True):
        """Send value as a result. What its __repr__ raises is raised here."""
        ipython = self.shell.ipython
        if ipython is not None:
            data = self._format(ipython, value)
        else:
            data = bundle(value)
        extra = {}
        if self.figures is not None and self.figures.owns(value):
            extra = self.figures.parts(value, data)
            self.figures.mark_shown(value)
        table = table_of(value)
        if table is not None:
            extra["data"] = table
        if isinstance(value, (dict, list)) and "application/json" not in data:
            try:
                data["application/json"] = strict(value)
            except (Unjsonable, RecursionError):
                pass
        if data:
            self.publish(data, extra, display)

    def _format(self, ipython, value):
        """IPython's bundle; a form that fails is told on stderr."""
        failed = self.shell.failed = []
        try:
            data, _metadata = ipython.display_formatter.format(value)
        finally:
            self.shell.failed = None
        if failed and "text/plain" not in data:
            repr(value)  # raises, as it does without IPython
        for exc in failed:
            print(f"{type(exc).__name__}: {exc}", file=sys.stderr)
        return dict(data)

    def publish(self, data, extra=None, display=True):
        """Send a bundle; without a run its text goes to stdout instead."""
        if self.control is None or not self.tag:
            print(data.get("text/plain", ""))
            return
        mime = {clean(key): _portable(key, value)
                for key, value in data.items() if value is not None}
        self.control.send(protocol.RESULT, self.tag,
                          {"mime": mime, **(extra or {}), "display": display})

    def display(self, *values, include=None, exclude=None, metadata=None,
                transient=None, display_id=None, raw=False, clear=False,
                **kwargs):
        """display(value, ...): show each value as a result of its own."""
        for value in values:
            if not raw:
                self.show(value)
            elif isinstance(value, dict):
                self.publish(value)


def bundle(value):
    """All that value says of itself, without IPython's help."""
    data = {}
    kind = type(value)
    if not isinstance(value, type):
        if hasattr(kind, "_repr_mimebundle_"):
            data.update(_call(value, "_repr_mimebundle_") or {})
        for name, mime in METHODS.items():
            if mime not in data and hasattr(kind, name):
                part = _call(value, name)
                if part is not None:
                    data[mime] = part
    if "text/plain" not in data:
        data["text/plain"] = repr(value)
    return data


def _call(value, name):
    """value's own representation; one that fails is told on stderr."""
    try:
        part = getattr(value, name)()
    except Exception as exc:
        print(f"{name}: {type(exc).__name__}: {exc}", file=sys.stderr)
        return None
    return part[0] if isinstance(part, tuple) else part


def _portable(mime, value):
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b2a_base64(value, newline=False).decode()
    if isinstance(value, str):
        if mime.startswith("image/") and "svg" not in mime:
            return "".join(value.split())
        return clean(value)
    return loose(value)
