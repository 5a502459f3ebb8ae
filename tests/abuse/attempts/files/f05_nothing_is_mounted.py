"""F5: nothing is mounted."""


def attempt(self):
    self.both(r'''
os.makedirs('/tmp/p', exist_ok=True)
for kind in (b'proc', b'tmpfs', b'overlay', b'sysfs', b'devtmpfs', b'cgroup2',
             b'mqueue', b'ext4', b'fuse', b'bpf', b'binfmt_misc', b'ramfs'):
    refused(kind, call(165, b'none', b'/tmp/p', kind, 0, None))
''')
