"""R23: of a thousand sandboxes that were made, used and destroyed nothing is
left: no namespace, mount, cgroup, loop device, descriptor, process, note,
socket or directory; and so many more are made that a slot of user ids that
was lost each time would be missed (there are 4,096)."""
import threading

from test_disk_life import disk

TRIES = 1  # it takes long
# Starts at full rate take all cores, and have no fair queue yet: a neighbour's
# command took 2.5 times as long meanwhile. Until there is one, it is only to be
# as quick as before when it is over.
MEANWHILE = False
THREADS = 4
USED, MORE = 1008, 3200
# The machine's own counts of namespaces: others use them too.
SLABS = ('net_namespace', 'user_namespace', 'pid_namespace', 'uts_namespace')


def slabs():
    with open('/proc/slabinfo', encoding='ascii') as file:
        rows = [line.split() for line in file]
    return {row[0]: int(row[1]) for row in rows if row[0] in SLABS}


def attempt(self):
    failures = []

    def use(first):
        for n in range(first, USED, THREADS):
            # Every fourth has a disk, and a loop device, of its own.
            how = {'rest': disk(16 << 20, 500)} if n % 16 >= 12 else {}
            box = self.stack.sandbox(**how)
            done = box.sh('echo x > /workspace/f; echo ok; sleep 50 &')
            if done.stdout != 'ok\n' or box.destroy() != 'none':
                failures.append(done)

    def take(first):
        for _ in range(first, MORE, THREADS):
            if self.stack.sandbox().destroy() != 'none':
                failures.append('destroy')

    # With the first disk come the spare ones.
    use(USED - THREADS)
    before, outside = self.settled(), slabs()
    for work in (use, take):
        threads = [threading.Thread(target=guard, args=(work, n, failures))
                   for n in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(self.settled(before), before)
    for name, count in slabs().items():
        self.assertLess(count, outside[name] + USED // 2, name)


def guard(work, first, failures):
    try:
        work(first)
    except Exception as e:
        failures.append(repr(e)[-500:])
