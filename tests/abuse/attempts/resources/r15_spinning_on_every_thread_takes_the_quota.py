"""R15: who computes on every thread gets the cpu quota within 10 %, and the
wall limit ends it."""
import os

SPIN = r'''
import resource, time
from multiprocessing import Process
def spin():
    while True:
        pass
children = [Process(target=spin) for _ in range(int(sys.argv[1]))]
begun = time.monotonic()
for child in children:
    child.start()
time.sleep(2)
for child in children:
    child.kill()
    child.join()
wall = time.monotonic() - begun
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print((used.ru_utime + used.ru_stime) / wall)
'''


def attempt(self):
    box = self.stack.sandbox(**{**self.limits, 'cpu': 500})
    many = str(4 * os.cpu_count())
    done = self.guest(SPIN, many, sandbox=box)
    self.assertEqual(done.code, 0, done)
    # A period's slice of each core may be over the edge of the measure.
    self.assertLess(float(done.stdout), 0.55 + 0.05 * os.cpu_count())
    done = box.sh(f'for i in $(seq {many}); do (while :; do :; done) & done; '
                  'wait', timeout_ms=700, grace_ms=100)
    self.assertEqual(done.reason, 'timed_out', done)
    self.assertEqual(box.destroy(), 'none')
