"""Many sandboxes that flood together; one alone is attempts/floods/."""
import neighbour
import net_world
import stack
from net_world import PUBLIC, opened


class Total(net_world.Case):
    conf = net_world.Case.conf + 'total = 300\nrate = 1000\n'

    def test_all_sandboxes_together_leave_room_on_the_host(self):
        hold = net_world.GUEST + f'''
held = []
for _ in range(250):
    s = socket.socket()
    s.settimeout(1)
    try:
        s.connect(("{PUBLIC}", 80))
        held.append(s)
    except OSError:
        break
    time.sleep(0.004)
print(len(held), flush=True)
time.sleep(20)
'''
        def flood():
            with opened(self.net) as a, opened(self.net) as b:
                wires = [box.start(['python3', '-c', hold]) for box in (a, b)]
                stack.until(10, 'it is full',
                            lambda: self.box.tcp(PUBLIC) == 'EHOSTUNREACH')
                self.assertIn('connection_count', self.box.denials())
                # Those that are there go on; names too.
                self.assertIn('ok.example', self.box.sh(
                    'getent hosts ok.example').stdout)
                for wire in wires:
                    wire.sock.close()
            stack.until(10, 'there is room again',
                        lambda: self.box.tcp(PUBLIC) == 'ok')

        with opened(self.net) as other:
            self.assertEqual(neighbour.spared(self.box, other, flood), '')


if __name__ == '__main__':
    stack.main()
