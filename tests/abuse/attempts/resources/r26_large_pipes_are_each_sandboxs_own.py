"""R26: pipes grow until a limit of the sandbox's own ids; another sandbox
can have as many."""
import stack

GROW = r'''
import fcntl, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
kept, why = 0, 'never'
while kept < 2000:
    r, w = os.pipe()
    try:
        fcntl.fcntl(w, 1031, 1 << 20)
    except OSError as e:
        why = errno.errorcode[e.errno]
        break
    kept += 1
print(kept, why, flush=True)
'''


def attempt(self):
    for user in ('root', 'sandbox'):
        hold = self.box.start(['python3', '-c', stack.GUARD + GROW +
                               'import time; time.sleep(20)'], user=user)
        while True:
            kind, _, payload = hold.recv()
            if kind == stack.EVENT:
                first, why = stack.get_event(payload)[2].decode().split()
                break
        self.assertEqual(why, 'EPERM')
        done = self.guest(GROW, sandbox=self.other, user=user)
        self.box.kill(hold.id)
        hold.sock.close()
        self.assertEqual(done.stdout.split(), [first, 'EPERM'], done)
