"""R19: while a sandbox of tens of thousands of files is destroyed and they
are removed, the broker answers others as it does otherwise. What holds it up
does so each time: on a machine that others use, one of three tries counts."""
import os
import statistics
import time

import neighbour
import stack
from test_disk_life import MIB, disk

FACTOR = 5  # its own work is in it: it ends a sandbox meanwhile


def ping(self):
    begun = time.monotonic()
    self.assertEqual(self.stack.broker(stack.PING), 'none')
    return time.monotonic() - begun


def usual(self):
    return statistics.median(ping(self) for _ in range(25))


def fill(self):
    box = self.another(memory=512 * MIB, rest=disk(1024 * MIB, 200000))
    done = box.sh('cd /workspace; seq 60000 | xargs -n 500 sh -c '
                  '\'mkdir $1; cd $1; touch "$@"\' -', wait=90)
    self.assertEqual(done.code, 0, done)
    return box


def held_up(self, box):
    """What is wrong about the broker's answers while ${box} is destroyed."""
    before = usual(self)
    took = []
    with self.stack.connect() as sock:
        sock.send(self.stack.request(stack.DESTROY, box.id))
        while not stack.readable(sock, 0) or len(took) < 25:
            took.append(ping(self))
        self.assertEqual(sock.recv(100)[16:20], bytes(4))
    stack.until(60, 'the files are gone', lambda: took.append(ping(self)) or
                not [name for name in os.listdir(
                    f'{self.stack.data}/sandboxes') if box.id in name])
    if statistics.median(took) >= FACTOR * max(before, usual(self)):
        return f'slow: {statistics.median(took)} s, {before} s before'
    # And no single one of them has waited for all of it.
    if max(took) >= sum(took) / 2 + FACTOR * max(before, took[0]):
        return f'one took {max(took)} s of {sum(took)} s'
    return ''


def attempt(self):
    told = [held_up(self, fill(self))]
    while told[-1] and len(told) < neighbour.TRIES:
        told.append(held_up(self, fill(self)))
    self.assertEqual(told[-1], '', told)
