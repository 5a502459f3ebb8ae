"""F10: handles of files are refused."""


def attempt(self):
    self.both(r'''
import struct
handle = struct.pack('IiII', 8, 1, 2, 0)
root = os.open('/', os.O_RDONLY)
refused('open', call(304, root, handle, 0))
refused('name', call(303, -100, b'/', page, page, 0), 'EPERM')
''')
