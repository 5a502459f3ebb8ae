"""A second tenant's sandbox beside each attempt: it must not be slowed down.

An attempt holds when the neighbour's usual command, run again and again while
the attempt lasted, took less than twice its usual time, and when it takes no
longer afterwards. Nothing is compared with a clock's absolute time:

- The usual time is the median of CALLS calls just before the attempt and of
  as many just after, whichever is more: what else loads the machine meanwhile
  is in it. "While" is the median of all calls that the attempt lasted for,
  and of CALLS at least: what is over sooner than they are slows down nobody.
- A median, since single calls on a small machine wait for one another; and
  a command of some milliseconds, so that a single wait is not all of it.
- On a machine that others use, one comparison can be spoiled by them but not
  every one: an attempt that seems to slow the neighbour is made again in a
  fresh sandbox, and the best of TRIES counts. What truly slows it does so
  each time.
- If every try failed, what counts is the time beside a sandbox of the same
  limits whose programs merely compute, one for each core: where cores are
  fewer than programs, any busy tenant costs the others something. An attack
  costs no more.
- Afterwards: the best of TRIES medians is less than twice the one before. If
  it is not, that is the attempt's doing only when it gets better by destroying
  the sandbox that made it; such a try counts as one that failed.

The calls are made by a process of their own, so that they do not wait for the
interpreter that makes the attempt."""
import contextlib
import itertools
import os
import select
import statistics
import time

CALLS = 7
TRIES = 3
FACTOR = 2
COMMAND = ['/bin/bash', '-c', 'for ((i = 0; i < 2000; i++)); do :; done']
COMPUTE = """import os, sys
any(os.fork() == 0 for _ in range(int(sys.argv[1]) - 1))
while True:
    pass"""
numbers = itertools.count(1)


def call(sandbox):
    """Milliseconds of one command."""
    begun = time.monotonic()
    done = sandbox.run(COMMAND, id_=f'n{os.getpid()}-{next(numbers)}')
    if (done.reason, done.code) != ('exited', 0):
        raise AssertionError(f'the neighbour: {done}')
    return (time.monotonic() - begun) * 1000


def usual(sandbox):
    return statistics.median(call(sandbox) for _ in range(CALLS))


def beside(sandbox, busy):
    """Its time while ${busy} computes."""
    wire = busy.start(['python3', '-c', COMPUTE, str(os.cpu_count())],
                      timeout_ms=20000)
    wire.recv()
    with during(sandbox) as took:
        time.sleep(0.5)
    busy.kill(wire.id)
    wire.sock.close()
    return statistics.median(took)


def _repeat(sandbox, stop, out):
    """In the child: call, rest a little, until ${stop} is closed and there
    are enough. The first calls warm this process up and do not count."""
    poll = select.poll()
    poll.register(stop, select.POLLIN)
    try:
        for n in range(-2, 1 << 30):
            took = call(sandbox)
            if n >= 0:
                os.write(out, f'{took:.3f}\n'.encode())
            if n == -1:
                os.write(out, b'ready\n')
            if poll.poll(10) and n >= CALLS:
                break
    except BaseException as e:
        os.write(out, f'failed {type(e).__name__}: {e}\n'.encode())
    os._exit(0)


@contextlib.contextmanager
def during(sandbox):
    """A list that has all calls' milliseconds when the block has ended."""
    took = []
    stop_read, stop = os.pipe()
    read, out = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(stop)
        os.close(read)
        _repeat(sandbox, stop_read, out)
    os.close(stop_read)
    os.close(out)
    with open(read, encoding='utf-8', errors='replace') as file:
        first = file.readline().strip()
        try:
            if first == 'ready':
                yield took
        finally:
            os.close(stop)
            words = file.read().splitlines()
            os.waitpid(pid, 0)
    for word in [first, *words][first == 'ready':]:
        if word.startswith('failed'):
            raise AssertionError(f'the neighbour {word}')
        took.append(float(word))


def settled(sandbox, before):
    """Its usual time after an attempt: ${before} was that before."""
    best = usual(sandbox)
    for _ in range(TRIES - 1):
        if best < FACTOR * before:
            break
        time.sleep(0.2)
        best = min(best, usual(sandbox))
    return best


def spared(sandbox, busy, work):
    """Whether work() slows the command of ${sandbox} no more than an attempt
    may; for tests that are no attempts. ${busy} is another one, to compute.
    '' or what it came to."""
    for _ in range(TRIES):
        before = usual(sandbox)
        with during(sandbox) as took:
            work()
        meanwhile, after = statistics.median(took), settled(sandbox, before)
        if meanwhile < FACTOR * max(before, after):
            return ''
    computes = beside(sandbox, busy)
    if meanwhile < FACTOR * computes:
        return ''
    return (f'a neighbour\'s command took {meanwhile:.1f} ms meanwhile, '
            f'{before:.1f} ms before, {after:.1f} ms after, {computes:.1f} ms '
            'beside one that computes')
