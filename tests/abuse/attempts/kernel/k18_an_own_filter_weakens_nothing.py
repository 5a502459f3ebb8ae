"""K18: an own filter weakens nothing."""


def attempt(self):
    self.both(r'''
import struct
# allow all: one instruction
insn = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))
prog = struct.pack('HxxxxxxP', 1, ctypes.addressof(insn))
call(317, 1, 0, prog)
call(317, 1, 8, prog)
refused('mount', call(165, b'none', b'/tmp', b'tmpfs', 0, 0))
refused('unshare', call(272, 0x10000000))
refused('io_uring', call(425, 8, page), 'ENOSYS')
''')
