"""Exceptions as ERROR payloads: name, text and a plain traceback."""

import os

from .jsonable import clean

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
CELL = "<cell "


def describe(exc):
    """exc as {"ename", "evalue", "traceback": [line, ...]}."""
    import traceback
    tb = _tenants_part(exc.__traceback__)
    try:
        told = traceback.TracebackException(type(exc), exc, tb, compact=True)
        _drop_ours(told)
        lines = "".join(told.format()).splitlines()
    except Exception:
        lines = [type(exc).__name__]
    return {"ename": clean(type(exc).__name__),
            "evalue": clean(_text(exc)),
            "traceback": [clean(line) for line in lines]}


def _text(exc):
    try:
        return str(exc)
    except Exception:
        return f"<{type(exc).__name__} whose text cannot be made>"


def _tenants_part(tb):
    """tb without the kernel's own frames at its head.

    From the first frame of a cell if there is one: an awaited cell has the
    event loop's frames before it.
    """
    at = tb
    while at is not None:
        if at.tb_frame.f_code.co_filename.startswith(CELL):
            return at
        at = at.tb_next
    while tb is not None and _is_ours(tb):
        tb = tb.tb_next
    return tb


def _is_ours(tb):
    return tb.tb_frame.f_code.co_filename.startswith(HERE)


def _drop_ours(told):
    """Without the kernel's frames further down, as that of exit()."""
    while told is not None:
        told.stack[:] = [frame for frame in told.stack
                         if not frame.filename.startswith(HERE)]
        told = told.__cause__ or told.__context__
