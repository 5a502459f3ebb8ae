"""P2: processes of the host are out of reach."""


def attempt(self):
    self.both(r'''
import signal
own = {int(n) for n in os.listdir('/proc') if n.isdigit()} | {1}
top = int(open('/proc/sys/kernel/pid_max').read())
for pid in range(2, min(top, 70000)):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        continue
    except PermissionError:
        pass
    if pid > 4000 and pid not in own:
        print('there is', pid)
''')
