"""N16: a flood of bytes leaves room for a neighbour."""
import time

import net_world
import stack
from net_world import PUBLIC, opened


def attempt(self):
    with opened(self.net) as loud:
        wire = loud.start(['python3', '-c', net_world.GUEST + f'''
end, total = time.time() + 3, 0
while time.time() < end:
    s = socket.create_connection(('{PUBLIC}', 80), 3)
    s.sendall(b'GET /big HTTP/1.0\\r\\n\\r\\n')
    while time.time() < end:
        n = len(s.recv(1 << 18))
        total += n
        if not n:
            break
    s.close()
print(total / 3e9 * 8)
'''])
        time.sleep(0.5)
        took = self.connect_ms(self.box)
        ended = stack.collect(wire)
        wire.sock.close()
        print(f'\ndown {float(ended.stdout):.2f} Gbit/s; neighbour'
              f' {took[len(took) // 2]:.1f} ms, worst {took[-1]:.1f} ms')
        self.assertGreater(float(ended.stdout), 0.02)
        self.assertLess(took[len(took) // 2], 1000, took)
