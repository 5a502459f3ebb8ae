"""R12: a reader that stops does not stop the rest."""
import time


def attempt(self):
    wire = self.box.start(['/bin/bash', '-c', 'yes | head -c 40000000'])
    wire.recv()
    time.sleep(0.5)
    self.assertEqual(self.box.sh('echo other').stdout, 'other\n')
    wire.sock.close()
