"""Values as what JSON can carry.

Always valid JSON: NaN and infinities become null, lone surrogates and NUL
become U+FFFD. Nesting is bounded because the reader's parser is.
"""

import math
import re

DEPTH_MAX = 24
NODES_MAX = 1_000_000
INT_MAX = 2 ** 63 - 1

_BAD = re.compile("[\x00\ud800-\udfff]")


class Unjsonable(Exception):
    """The value has no faithful JSON form."""


def clean(text):
    """text as valid UTF-8 without NUL."""
    return _BAD.sub("\ufffd", str.__str__(text))


def strict(value):
    """value if JSON can say all of it, else Unjsonable is raised."""
    return _convert(value, None, [NODES_MAX], 0)


def loose(value):
    """value with everything that JSON has no word for turned into text."""
    try:
        return _convert(value, _as_text, [NODES_MAX], 0)
    except Unjsonable:
        return _as_text(value)


def _as_text(value):
    isoformat = getattr(value, "isoformat", None)
    try:
        if isoformat is not None:
            text = isoformat()
            return None if text == "NaT" else clean(text)
        return clean(str(value))
    except Exception:
        return f"<{type(value).__name__}>"


def _convert(value, fallback, left, depth):
    left[0] -= 1
    if left[0] < 0 or depth > DEPTH_MAX:
        raise Unjsonable
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, int):
        return _integer(int(value), fallback)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {_key(key, fallback): _convert(item, fallback, left, depth + 1)
                for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_convert(item, fallback, left, depth + 1) for item in value]
    scalar = _numpy_scalar(value)
    if scalar is not value:
        return _convert(scalar, fallback, left, depth + 1)
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if fallback is None:
        raise Unjsonable
    return fallback(value)


def _integer(value, fallback):
    if -INT_MAX <= value <= INT_MAX:
        return value
    if fallback is None:
        raise Unjsonable
    try:
        return float(value)
    except OverflowError:
        return None


def _key(key, fallback):
    key = _numpy_scalar(key)
    if isinstance(key, str):
        return clean(key)
    if key is None or key is True or key is False:
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, (int, float)):
        return str(key)
    if fallback is None and not hasattr(key, "isoformat"):
        raise Unjsonable
    return _as_text(key) or ""


def _numpy_scalar(value):
    if type(value).__module__ != "numpy" or getattr(value, "shape", None) != ():
        return value
    if type(value).__name__ in ("datetime64", "timedelta64"):
        return str(value) if str(value) != "NaT" else None
    item = value.item()
    return item if isinstance(item, (str, int, float)) else str(item)
