"""N13: twenty thousand connects to nowhere."""
import time

import net_world
import stack
from net_world import BLACKHOLE, opened


def attempt(self):
    with opened(self.net) as loud:
        wire = loud.start(['python3', '-c', net_world.GUEST + f'''
held = []
for i in range(20000):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(('{BLACKHOLE}', 1024 + i % 50000))
    held.append(s)
    if len(held) > 900:
        for s in held[:450]:
            s.close()
        held = held[450:]
print('done')
'''], timeout_ms=60000)
        time.sleep(0.5)
        most = self.connect_ms(self.box)
        ended = stack.collect(wire, 60)
        wire.sock.close()
        self.assertEqual(ended.stdout, 'done\n', ended)
        mine = [line for line in self.net.flows()
                if f'src={loud.addr()} ' in line]
        self.assertLessEqual(len(mine), 512 + 16)
        host = [line for line in self.net.flows(self.world.host)
                if f'dst={BLACKHOLE} ' in line]
        self.assertLessEqual(len(host), 512 + 200 + 16)
        refused = loud.denials()
        self.assertGreater(refused['connection_rate'], 10000)
        # A SYN that was dropped is sent again after a second.
        self.assertLess(most[len(most) // 2], 1000, most)
        print(f'\nneighbour: {most[len(most) // 2]:.1f} ms, worst'
              f' {most[-1]:.1f} ms; refused {refused}')
