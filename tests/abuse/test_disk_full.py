"""A machine's disk that promised too much (research: R8): sandboxes see
ENOSPC, never an I/O error, and what is left is the service's own."""
import os
import shutil
import subprocess
import tempfile
import unittest

import stack
from test_disk_life import disk, image

MIB = stack.MIB
SIZE = 1024 * MIB
RESERVE = SIZE // 20  # about: the file system has less
ROOM = 60 * MIB       # for sandboxes, above the reserve

# Slow enough for any machine: a disk of this size has a small reserve.
WRITER = r'''
import os, sys, time
fd = os.open('/workspace/' + sys.argv[1], os.O_CREAT | os.O_WRONLY)
for i in range(400):
    try:
        if os.write(fd, os.urandom(1 << 20)) < 1 << 20:
            sys.exit('short')
        os.fsync(fd)
        time.sleep(0.02)
    except OSError as e:
        sys.exit(os.strerror(e.errno))
'''


class Full(unittest.TestCase):
    def setUp(self):
        stack.need_root()
        self.dir = tempfile.mkdtemp(prefix='warren-full-')
        self.addCleanup(shutil.rmtree, self.dir)
        subprocess.run(f'truncate -s {SIZE} {self.dir}/disk && '
                       f'mkfs.ext4 -qF -m 0 {self.dir}/disk && '
                       f'mkdir {self.dir}/on && '
                       f'mount -o loop {self.dir}/disk {self.dir}/on',
                       shell=True, check=True)
        self.addCleanup(subprocess.run, ['umount', f'{self.dir}/on'],
                        check=True)
        self.addCleanup(setattr, tempfile, 'tempdir', tempfile.tempdir)
        os.chmod(self.dir, 0o755)
        tempfile.tempdir = f'{self.dir}/on'
        self.stack = stack.Stack()
        self.addCleanup(self.stack.close)
        self.fill(self.free() - RESERVE - ROOM)

    def free(self):
        s = os.statvfs(self.stack.data)
        return s.f_bavail * s.f_frsize

    def fill(self, size):
        with open(f'{self.stack.data}/filler', 'wb') as file:
            os.posix_fallocate(file.fileno(), 0, size)

    def test_r08_a_full_host_is_no_io_error_inside(self):
        boxes = [self.stack.sandbox(rest=disk(100 * MIB, 1000))
                 for _ in range(3)]
        if not os.path.exists(image(boxes[0])):
            self.skipTest('no ext4 images here (quota or none)')
        writers = [box.start(['python3', '-c', WRITER, 'x'])
                   for box in boxes]
        for writer in writers:
            done = stack.collect(writer, 60)
            writer.sock.close()
            self.assertIn(done.stderr, ('No space left on device\n',
                                        'short\n'), done)
            self.assertEqual(done.reason, 'disk_limit', done)
        self.assertGreater(self.free(), RESERVE // 3)
        self.assertIn('nearly full', self.stack.said())
        # No more are taken in.
        self.assertEqual(self.stack.broker(
            stack.START, stack.new_id(), rest=disk(100 * MIB)), 'limit')
        # Those that run go on, and one that starts again is not let off.
        for box in boxes[:2]:
            self.assertEqual(box.sh('cat /workspace/x | wc -c').code, 0)
        self.assertEqual(self.stack.broker(stack.STOP, boxes[1].id), 'none')
        self.assertEqual(self.stack.broker(
            stack.START, boxes[1].id, rest=disk(100 * MIB)), 'none')
        done = boxes[1].run(['python3', '-c', WRITER, 'y'], 60)
        self.assertIn(done.stderr, ('No space left on device\n', 'short\n'))
        self.assertGreater(self.free(), RESERVE // 4)
        # Room again: what one of them deletes counts, the operator helps.
        free = self.free()
        self.assertEqual(boxes[0].sh('rm /workspace/x').code, 0)
        stack.until(10, 'holes', lambda: self.free() > free + 4 * MIB)
        os.truncate(f'{self.stack.data}/filler',
                    os.path.getsize(f'{self.stack.data}/filler') - RESERVE)
        stack.until(10, 'room again', lambda: boxes[2].sh(
            'head -c 1M /dev/zero >/workspace/z').code == 0)
        self.assertIn('not full any more', self.stack.said())
        size = boxes[2].sh("stat -f -c '%S %a' /workspace").stdout.split()
        self.assertLess(int(size[0]) * int(size[1]), 100 * MIB)


if __name__ == '__main__':
    stack.main()
