"""P7: stopped processes are destroyed."""
import time

import stack


def attempt(self):
    box = self.stack.sandbox()
    wire = box.start(['/bin/bash', '-c', 'sleep 50 & sleep 50 & '
                      'kill -STOP $!; kill -STOP $$'])
    wire.recv()
    time.sleep(0.2)
    _, init = box.pids()
    self.destroyed_soon(box)
    self.assertFalse(stack.alive(init))
    wire.sock.close()
