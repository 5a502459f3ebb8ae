"""Connections at once are counted."""
import stack
from net_world import PUBLIC, opened


def attempt(self):
    with opened(self.net) as box:
        got = box.py('''
import resource
held, bad = [], 0
end = time.time() + 15
while time.time() < end and len(held) < 600:
    s = socket.socket()
    s.settimeout(1)
    try:
        s.connect((sys.argv[1], 80))
        held.append(s)
    except OSError as e:
        bad += 1
        if len(held) >= 512:
            break
    time.sleep(0.011)
print(len(held))
for s in held:
    s.close()
''', PUBLIC, timeout_ms=60000)
        self.assertIn(int(got.stdout), range(500, 530), got)
        self.assertIn('connection_count', box.denials())
        # What is closed counts no more.
        stack.until(10, 'connections again',
                    lambda: box.tcp(PUBLIC) == 'ok')
