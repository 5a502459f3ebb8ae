"""What a run may read: input(), sys.stdin, and descriptor 0.

Text that came with a run is a file in memory at descriptor 0 while that run
is on, so that C code and children find it there, too. At its end it is
/dev/null again, as between runs, and the stream of that run is closed.
"""

import io
import os
import sys


class Stdin:
    def __init__(self):
        self._before = None
        self._stream = None

    def give(self, text):
        """Have text read until take_back()."""
        fd = os.memfd_create("stdin")
        try:
            left = memoryview(text.encode("utf-8", "replace"))
            while left:
                left = left[os.write(fd, left):]
            os.lseek(fd, 0, os.SEEK_SET)
            os.dup2(fd, 0)
        finally:
            os.close(fd)
        self._before = sys.stdin, sys.__stdin__
        self._stream = sys.stdin = sys.__stdin__ = io.open(
            0, encoding="utf-8", closefd=False)

    def take_back(self):
        """Nothing is read of it any more; does nothing if none was given."""
        if self._stream is None:
            return
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        if sys.stdin is self._stream:
            sys.stdin = self._before[0]
        sys.__stdin__ = self._before[1]
        self._stream.close()
        self._stream = None
