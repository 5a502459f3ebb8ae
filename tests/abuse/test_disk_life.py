"""A sandbox's disk: what holds of it, from its first start to its last.
Attempts to have more of it: attempts/disk/."""
import os
import struct
import time

import stack

MIB = stack.MIB
BYTES, INODES = 64 * MIB, 2000
USAGE, USAGE_IS = 15, 0x89


def disk(size, inodes=0, ephemeral=False):
    """The tail of a START: disk limits, no network, flags."""
    return struct.pack('<QIIII', size, inodes, 0, 0, int(ephemeral))


def usage(box):
    kind, _, payload = box.ask(USAGE)
    assert kind == USAGE_IS, kind
    names = ('disk_used', 'disk_limit', 'inodes_used', 'inodes_limit',
             'memory_used', 'memory_limit', 'pids_used', 'pids_limit')
    return dict(zip(names, struct.unpack('<8Q', payload)))


def image(box):
    return f'{box.stack.data}/sandboxes/{box.id}/disk.img'


class Case(stack.Case):
    limits = {'rest': disk(BYTES, INODES)}

    def setUp(self):
        if not os.path.exists(image(self.box)):
            self.skipTest('no ext4 images here (quota or none)')

    def free(self, box=None):
        """(bytes, inodes) that df tells inside."""
        done = (box or self.box).sh(
            "stat -f -c '%S %a %d' /workspace")
        size, blocks, inodes = map(int, done.stdout.split())
        return size * blocks, inodes

    def another(self, **how):
        """A sandbox whose upper layer has /workspace already."""
        box = self.stack.sandbox(**{**self.limits, **how})
        self.addCleanup(box.destroy)
        self.assertEqual(box.sh('chmod 755 /workspace').code, 0)
        return box


class Limits(Case):
    def test_a_full_disk_is_named_only_when_it_is_to_blame(self):
        box = self.another()
        self.assertEqual(box.sh('exit 3').reason, 'exited')
        self.assertEqual(
            box.sh('head -c 200M /dev/zero >/workspace/x; true').reason,
            'exited')
        self.assertEqual(box.sh('kill -9 $$').reason, 'signalled')
        self.assertEqual(
            box.sh('rm /workspace/x; head -c 1M /dev/zero >/workspace/y; '
                   'exit 4').reason, 'exited')

    def test_a_mapping_that_cannot_be_filled_is_named(self):
        box = self.another()
        done = self.guest(r'''
import mmap
with open('/workspace/m', 'w+b') as file:
    file.truncate(200 << 20)
    with mmap.mmap(file.fileno(), 0) as m:
        for at in range(0, 200 << 20, 4096):
            m[at] = 1
''', sandbox=box)
        self.assertEqual((done.signal, done.reason), (7, 'disk_limit'), done)

    def test_a_copy_up_that_does_not_fit_leaves_the_file_as_it_was(self):
        box = self.stack.sandbox(rest=disk(4 * MIB, 200))
        self.addCleanup(box.destroy)
        done = box.sh('set -- $(find /usr/lib /usr/bin -xdev -type f -size '
                      '+6M | head -1); cksum <$1; echo >>$1; '
                      'code=$?; cksum <$1; exit $code')
        self.assertNotEqual(done.code, 0, done)
        before, after = done.stdout.splitlines()
        self.assertEqual(before, after)

    def test_usage_is_told(self):
        box = self.another(memory=256 * MIB, pids=77)
        before = usage(box)
        self.assertEqual(before['memory_limit'], 256 * MIB)
        self.assertEqual(before['pids_limit'], 77)
        self.assertLess(before['disk_used'], 128 * 1024)
        self.assertEqual(before['disk_limit'] - before['disk_used'],
                         self.free(box)[0])
        self.assertEqual(before['inodes_limit'] - before['inodes_used'],
                         self.free(box)[1])
        box.sh('head -c 8M /dev/zero >/workspace/x')
        after = usage(box)
        self.assertEqual(after['disk_limit'], before['disk_limit'])
        self.assertEqual(after['disk_used'] - before['disk_used'], 8 * MIB)
        self.assertEqual(after['inodes_used'] - before['inodes_used'], 1)
        self.assertGreater(after['memory_used'], 4 * MIB)

    def test_what_is_deleted_the_host_has_again(self):
        box = self.another()
        box.sh('head -c 50M /dev/urandom >/workspace/x; sync -d /workspace/x')
        self.assertGreater(os.stat(image(box)).st_blocks * 512, 48 * MIB)
        box.sh('rm /workspace/x')
        stack.until(10, 'holes in the image', lambda: os.stat(
            image(box)).st_blocks * 512 < 4 * MIB)


class Life(Case):
    def test_files_stay_when_it_stops_and_limits_with_them(self):
        box = self.another()
        box.sh('echo kept >/workspace/x; rm /etc/hostname')
        for size in (2 * BYTES, 0):
            self.assertEqual(self.stack.broker(stack.STOP, box.id), 'none')
            self.assertEqual(self.stack.broker(
                stack.START, box.id, rest=disk(size)), 'none')
            done = box.sh('cat /workspace/x; ls /etc/hostname')
            self.assertEqual(done.stdout, 'kept\n', done)
            self.assertLessEqual(self.free(box)[0], BYTES)

    def test_a_full_sandbox_can_be_started_again_and_emptied(self):
        for fill in ('head -c 200M /dev/zero >/workspace/x',
                     'mkdir /workspace/d; cd /workspace/d; i=0; '
                     'while : >$i; do i=$((i+1)); done'):
            box = self.another()
            box.sh(fill)
            for _ in range(2):
                self.assertEqual(self.stack.broker(stack.STOP, box.id),
                                 'none')
                self.assertEqual(self.stack.broker(
                    stack.START, box.id, **self.limits), 'none')
            done = box.sh('rm -r /workspace/* && echo x >/usr/bin/y')
            self.assertEqual(done.code, 0, done)

    def test_a_sandbox_made_without_limits_stays_without(self):
        box = self.stack.sandbox()
        self.addCleanup(box.destroy)
        box.sh('echo kept >/workspace/x')
        self.assertEqual(usage(box)['disk_limit'], 0)
        self.assertEqual(self.stack.broker(stack.STOP, box.id), 'none')
        self.assertEqual(self.stack.broker(
            stack.START, box.id, rest=disk(BYTES)), 'none')
        self.assertEqual(box.sh('cat /workspace/x').stdout, 'kept\n')
        self.assertFalse(os.path.exists(image(box)))

    def test_a_disk_in_memory_is_bounded_and_gone_at_the_end(self):
        box = self.another(memory=256 * MIB,
                           rest=disk(32 * MIB, 1000, ephemeral=True))
        self.assertFalse(os.path.exists(os.path.dirname(image(box))))
        done = box.sh('head -c 100M /dev/zero >/workspace/x')
        self.assertEqual((done.code, done.reason), (1, 'disk_limit'), done)
        self.assertEqual(box.sh('rm /workspace/x; echo x >/usr/bin/y').code,
                         0)
        self.assertEqual(self.stack.broker(stack.STOP, box.id), 'none')
        self.assertEqual(self.stack.broker(
            stack.START, box.id, memory=256 * MIB,
            rest=disk(32 * MIB, 1000, ephemeral=True)), 'none')
        self.assertEqual(box.sh('ls /usr/bin/y').stdout, '')

    def test_limits_out_of_range_are_refused(self):
        for rest in (disk(1), disk(MIB - 1)):
            self.assertEqual(self.stack.broker(
                stack.START, stack.new_id(), rest=rest), 'arg')
        for rest in (disk(1 << 43), disk((1 << 64) - 1),
                     disk(0, ephemeral=True), disk(4096, ephemeral=True),
                     disk(128 * MIB, ephemeral=True)):
            with self.assertRaises(stack.Broken):
                self.stack.broker(stack.START, stack.new_id(), rest=rest)

    def test_what_cannot_be_promised_is_refused(self):
        host = os.statvfs(self.stack.data)
        most = 10 * host.f_bavail * host.f_frsize
        if most > 1 << 42:
            self.skipTest('the disk is too large for this')
        box = stack.Sandbox(self.stack)
        self.assertEqual(self.stack.broker(
            stack.START, box.id, rest=disk(most, 1000)), 'limit')
        self.assertFalse(os.path.exists(image(box)))
        self.another()


if __name__ == '__main__':
    stack.main()
