"""clock.py COUNT PAUSE: the monotonic clock when it was written, each time."""
import os
import sys
import time

for _ in range(int(sys.argv[1])):
    time.sleep(float(sys.argv[2]))
    os.write(1, b'%d\n' % time.clock_gettime_ns(time.CLOCK_MONOTONIC))
