"""Labels in mathtext as the characters that one sees: 10², not $10^{2}$."""

import re

MATH = re.compile(r"(?<!\\)\$((?:[^$\\]|\\.)*)\$")
FONT = re.compile(r"\\(?:math\w+|text)\s*\{([^{}]*)\}")
FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
SCRIPT = re.compile(r"([\^_])(?:\{([^{}]*)\}|([^\\{}\s]))")
NAME = re.compile(r"\\([A-Za-z]+) *")
SPACE = re.compile(r"\\[,:;! ]|~")
UP = str.maketrans("0123456789+-\u2212=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
DOWN = str.maketrans("0123456789+-\u2212=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")


class _Cannot(Exception):
    pass


def plain(text):
    """text without its mathtext; as it is if that cannot be said so."""
    if "$" not in text:
        return text
    try:
        return MATH.sub(lambda math: _math(math.group(1)), text).replace(
            "\\$", "$")
    except _Cannot:
        return text


def _math(source):
    before = None
    while before != source:  # from the innermost braces outwards
        before = source
        source = NAME.sub(_name, source)
        source = FONT.sub(r"\1", source)
        source = FRACTION.sub(r"\1/\2", source)
        source = SCRIPT.sub(_script, source)
    source = SPACE.sub(" ", source).replace("\\%", "%")
    if re.search(r"[\\{}^_]", source):
        raise _Cannot
    return source.replace("-", "\u2212")


def _name(match):
    name = match.group(1)
    if name.startswith("math") or name.endswith("frac") or name == "text":
        return match.group(0)
    try:
        from matplotlib._mathtext_data import tex2uni
    except ImportError:  # it is matplotlib's own
        raise _Cannot from None
    if name in ("left", "right"):
        return ""
    if name in tex2uni:
        return chr(tex2uni[name])
    if name in ("log", "ln", "sin", "cos", "tan", "exp", "min", "max"):
        return name
    raise _Cannot


def _script(match):
    text = match.group(2) if match.group(2) is not None else match.group(3)
    table = UP if match.group(1) == "^" else DOWN
    if any(ord(each) not in table for each in text):
        raise _Cannot
    return text.translate(table)
