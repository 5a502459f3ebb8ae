"""The Python zygote as a program: /usr/bin/python3 -I zygote.py.

Started by the broker inside an image, it warms up, tests itself, and forks a
kernel into a sandbox for each request. It never sees a tenant's data: what
a kernel begins with comes to the child alone, on the child's own socket.
With --alone it forks one kernel that enters no sandbox, for tests.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from warren_kernel import child, zygote  # noqa: E402
from warren_kernel.kernel import Kernel  # noqa: E402

del sys.path[0]

if __name__ == "__main__":
    alone = sys.argv[1:] == ["--alone"]
    kernel = Kernel()
    if alone:
        zygote.fork_alone(kernel)
    else:
        zygote.Zygote(kernel, os.path.join(
            HERE, "..", "..", "bin", "libwarren-enter.so")).run()
    child.run(kernel, 3)
