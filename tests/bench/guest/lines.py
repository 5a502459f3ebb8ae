"""lines.py N RATE SECONDS: numbered lines, a write for each, at that rate."""
import os
import sys
import time

name, rate, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
total = int(rate * seconds)
begin = time.monotonic()
done = 0
while done < total:
    due = min(total, int((time.monotonic() - begin) * rate) + 1)
    for i in range(done, due):
        os.write(1, b'%s %08d\n' % (name.encode(), i))
    done = due
    time.sleep(0.002)
# How far behind the clock it came: nobody should have held it up.
os.write(2, b'%.3f\n' % (time.monotonic() - begin - seconds))
