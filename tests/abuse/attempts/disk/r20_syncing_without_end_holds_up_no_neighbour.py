"""R20: sync, syncfs and fsync without end in four sandboxes: a neighbour's own
fsync takes less than twice as long as usual, or as beside four that merely
compute: where an fsync takes less than a millisecond, it is cores that count.
Compared as neighbour.py does it."""
import statistics

import neighbour
import stack

SYNC = r'''
fd = os.open('/workspace/x', os.O_CREAT | os.O_RDWR)
data = os.urandom(65536)
while True:
    os.pwrite(fd, data, 0)
    os.fsync(fd)
    call(306, fd)
    os.sync()
    os.write(1, b'x')
'''
COMPUTE = r'''
os.write(1, b'x')
while True:
    pass
'''
TIMED = r'''
import time
fd = os.open('/workspace/mine', os.O_CREAT | os.O_RDWR)
for i in range(60):
    os.pwrite(fd, os.urandom(4096), 0)
    begun = time.monotonic()
    os.fsync(fd)
    if i >= 20:
        print(time.monotonic() - begun)
'''


def median(self, box):
    done = self.guest(TIMED, sandbox=box)
    self.assertEqual(done.code, 0, done)
    return statistics.median(map(float, done.stdout.split()))


def beside(self, mine, boxes, program):
    """The median while ${program} runs in each of ${boxes}."""
    wires = [box.start(['python3', '-c', stack.GUARD + program])
             for box in boxes]
    for wire in wires:
        wire.recv()
        wire.recv()
    took = median(self, mine)
    for box, wire in zip(boxes, wires):
        box.kill(wire.id)
        stack.collect(wire)
        wire.sock.close()
    return took


def attempt(self):
    mine = self.make_box()
    # One core in all, as any attacker has.
    boxes = [self.stack.sandbox(**{**self.limits, 'cpu': 250})
             for _ in range(4)]
    told = []
    for _ in range(neighbour.TRIES):
        before = median(self, mine)
        meanwhile = beside(self, mine, boxes, SYNC)
        after = median(self, mine)
        computing = beside(self, mine, boxes, COMPUTE)
        told.append((before, meanwhile, after, computing))
        if meanwhile < neighbour.FACTOR * max(before, after, computing):
            return
    self.fail('fsync took, before, meanwhile, after and beside four that '
              f'compute: {told}')
