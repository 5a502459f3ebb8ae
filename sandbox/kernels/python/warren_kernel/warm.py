"""What a zygote does before it forks, and each child after.

Never runs or reads anything of a tenant, never awaits: a loop's descriptor
would be shared by all children.
"""

import gc
import os
import sys


def load(kernel):
    """Import the usual libraries and use each once."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import numpy
    import pandas
    import matplotlib.pyplot as plt
    import ssl
    import linecache  # noqa: F401
    import traceback  # noqa: F401
    from . import display, errors, figures
    kernel.shell.get_ipython()
    ssl.RAND_bytes(1)
    frame = pandas.DataFrame({"a": numpy.arange(3)})
    display.bundle(frame)
    figure, axes = plt.subplots()
    axes.plot([1, 2, 3])
    data = {}
    kernel.figures.parts(figure, data)
    figures.png(figure)
    plt.close("all")
    try:
        raise ValueError("warm")
    except ValueError as exc:
        errors.describe(exc)
    gc.collect()
    gc.freeze()


def refresh(kernel):
    """Make a forked child differ from its siblings."""
    import random
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "ssl" in sys.modules:
        sys.modules["ssl"].RAND_add(os.urandom(64), 64)
    if kernel.shell.ipython is not None:
        kernel.shell.ipython.db = {}
