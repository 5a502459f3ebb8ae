"""The Python kernel as a program: /usr/bin/python3 -I kernel.py.

-I keeps a tenant's files and PYTHON* variables from changing what the kernel
itself imports; serve() then gives the tenant's code the import path that it
expects. This file stays tiny since a main program is never read from .pyc.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from warren_kernel.kernel import Kernel  # noqa: E402

del sys.path[0]

if __name__ == "__main__":
    Kernel().serve(3)
