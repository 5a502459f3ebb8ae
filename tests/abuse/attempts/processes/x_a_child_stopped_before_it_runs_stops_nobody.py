"""A child stopped before it runs stops nobody. Between clone and exec init
waits; SIGSTOP then is worth trying."""
import stack


def attempt(self):
    box = self.stack.sandbox()
    hunter = box.start(['python3', '-c', stack.GUARD + r'''
import signal
print('begun', flush=True)
last = os.getpid()
while True:
    for pid in range(last + 1, last + 6):
        try:
            os.kill(pid, signal.SIGSTOP)
            last = pid
        except ProcessLookupError:
            pass
'''])
    hunter.recv()
    hunter.recv()
    ended = 0
    for _ in range(2):
        call = box.start(['true'], timeout_ms=500, grace_ms=1)
        try:
            stack.collect(call, 45)
            ended += 1
        except stack.Refused as e:
            self.assertIn(e.code, ('limit', 'gone'))
        call.sock.close()
    box.kill(hunter.id)
    stack.collect(hunter)
    hunter.sock.close()
    self.assertEqual(box.sh('echo on').stdout, 'on\n')
    box.destroy()
