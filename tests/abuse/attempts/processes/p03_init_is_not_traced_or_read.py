"""P3: init is not traced or read."""


def attempt(self):
    self.both(r'''
for uid in ((os.getuid(), 65533) if os.getuid() == 0 else (os.getuid(),)):
    os.setresuid(uid, uid, uid)
    for what in (16, 0x4206, 2):
        refused('ptrace', call(101, what, 1, 0, 0))
    refused('readv', call(310, 1, page, 1, page, 1, 0))
    refused('writev', call(311, 1, page, 1, page, 1, 0))
    refused('madvise', call(440, 0, page, 1, 0, 0))
    for name in ('mem', 'maps', 'environ', 'auxv', 'fd', 'fdinfo', 'root',
                 'cwd', 'exe', 'syscall', 'stack', 'ns/user', 'io', 'status'):
        refused((uid, name), opens('/proc/1/' + name), 'ENOENT', 'EACCES',
                'EPERM')
''')
