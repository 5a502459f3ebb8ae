"""K12: other doors into the kernel are shut."""


def attempt(self):
    # mov eax, nr; int 0x80 | syscall; ret
    self.both(r'''
import mmap
kept = []
def code(data):
    m = mmap.mmap(-1, 4096, prot=7)
    m.write(data)
    kept.append(m)
    at = ctypes.addressof(ctypes.c_char.from_buffer(m))
    return ctypes.CFUNCTYPE(ctypes.c_long)(at)
i386 = code(b'\xb8\x14\x00\x00\x00\xcd\x80\xc3')
x32 = code(b'\xb8\x27\x00\x00\x40\x0f\x05\xc3')
native = code(b'\xb8\x27\x00\x00\x00\x0f\x05\xc3')
if native() != os.getpid():
    print('the test itself')
def run(fn):
    got = fn()
    if got > 0:
        print('executed', got)
    os._exit(0 if got == -38 else 3)
# -11: some virtual machines have no such door at all.
refused('int 0x80', apart(lambda: run(i386)), -31, -11, 0)
refused('x32', apart(lambda: run(x32)), -31, 0)
refused('high', apart(lambda: call(0x7fffffff)), -31, 0)
''')
