"""F16: loops of links, directories nested thousands deep and longest names
are answered, and the sandbox's files can still be deleted."""
import os

import stack

TREE = r'''
os.chdir('/workspace')
os.symlink('loop', 'loop')
os.symlink('b', 'a')
os.symlink('a', 'b')
os.mkdir('n' * 255)
open('n' * 255 + '/' + 'm' * 255, 'w').close()
for bad in (b'\xff\xfe', b'new\nline', b'\x1b[31m', b'-rf', b'*'):
    open(bad, 'w').close()
depth = 0
for depth in range(4096):
    try:
        os.mkdir('d')
        os.chdir('d')
    except OSError as e:
        refused('deep', errno.errorcode[e.errno], 'ENAMETOOLONG')
        break
open('bottom', 'w').close()
os.chmod('.', 0)
'''


def attempt(self):
    box = self.make_box()
    done = self.guest(TREE, sandbox=box)
    self.assertEqual((done.code, done.stdout), (0, ''), done)
    for argv in (['read', '/workspace/loop', '0', '0', '0'],
                 ['read', '/workspace/a/x', '0', '0', '0'],
                 ['stat', '/workspace/a/../../..'],
                 ['stat', '/workspace/' + 'n' * 256],
                 ['stat', '/' + 'x/' * 3000],
                 ['list', '/workspace', '1', '1', '100000'],
                 ['list', '/workspace/' + 'd/' * 2000, '1', '1', '100000'],
                 ['delete', '/workspace/loop', '1'],
                 ['delete', '/workspace/' + 'n' * 255, '1'],
                 ['delete', '/workspace/d', '1']):
        ended = box.run(argv, kind=stack.FS)
        self.assertEqual((ended.reason, ended.code), ('exited', 0),
                         (argv[0], argv[1][:40], ended))
    self.assertEqual(self.guest(TREE.replace('/workspace', '/root'),
                                sandbox=box).code, 0)
    self.assertEqual(box.destroy(), 'none')
    stack.until(10, 'its files are gone', lambda: not [
        name for name in os.listdir(f'{self.stack.data}/sandboxes')
        if box.id in name or name.startswith('trash')])
