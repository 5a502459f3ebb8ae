"""P12: no namespace is made but threads are."""


def attempt(self):
    self.both(r'''
FLAGS = {'NS': 0x20000, 'CGROUP': 0x2000000, 'UTS': 0x4000000,
         'IPC': 0x8000000, 'USER': 0x10000000, 'PID': 0x20000000,
         'NET': 0x40000000, 'TIME': 0x80}
for name, flag in FLAGS.items():
    refused('unshare ' + name, call(272, flag))
    got = call(56, flag | 17, 0, 0, 0, 0)
    if got == 0:
        os._exit(0)
    refused('clone ' + name, got)
    refused('clone and USER ' + name,
            call(56, flag | 0x10000000 | 17, 0, 0, 0, 0))
args = (ctypes.c_ulonglong * 11)(0x10000000, 0, 0, 0, 17)
refused('clone3', call(435, args, 88), 'ENOSYS')
import threading
ran = []
t = threading.Thread(target=lambda: ran.append(1))
t.start()
t.join()
if not ran:
    print('no thread')
''')
