"""P10: priority is not raised."""


def attempt(self):
    self.both(r'''
for policy in (1, 2):
    try:
        os.sched_setscheduler(0, policy, os.sched_param(10))
        print('policy', policy)
    except PermissionError:
        pass
try:
    os.nice(-20)
    print('nice')
except PermissionError:
    pass
refused('ioprio', call(251, 1, 0, 1 << 13))
refused('deadline', call(314, 0, (ctypes.c_ulonglong * 7)(
    48 | 6 << 32, 0, 0, 10 ** 6, 10 ** 7, 10 ** 7, 0), 0),
    'EPERM', 'EINVAL', 'EBUSY')
''')
