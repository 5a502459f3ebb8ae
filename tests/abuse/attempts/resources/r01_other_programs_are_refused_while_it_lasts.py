"""R1: other programs are refused while it lasts."""
import stack


def attempt(self):
    bomb = self.box.start(['python3', '-c', stack.GUARD + r'''
import signal, time
made = 0
while True:
    try:
        if os.fork() == 0:
            time.sleep(100)
            os._exit(0)
        made += 1
    except OSError as e:
        break
print(made, flush=True)
time.sleep(100)
'''])
    bomb.recv()
    kind, _, payload = bomb.recv()
    self.assertEqual(kind, stack.EVENT)
    self.assertLess(int(stack.get_event(payload)[2]), self.limits['pids'])
    with self.assertRaises(stack.Refused) as e:
        self.box.sh('true')
    self.assertEqual(e.exception.code, 'limit')
    self.box.kill(bomb.id)
    self.assertEqual(stack.collect(bomb).reason, 'killed')
    bomb.sock.close()
