"""P8: a process that waits in the kernel is destroyed."""
import time


def attempt(self):
    box = self.stack.sandbox()
    box.start(['/bin/bash', '-c', 'mkfifo /tmp/f; echo x > /tmp/f']
              ).sock.close()
    wire = box.start(['python3', '-c', 'import os\n'
                      'os.mkfifo("/tmp/g")\n'
                      'os.posix_spawn("/bin/sleep", ["sleep", "50"], {})\n'
                      'open("/tmp/g").read()'])
    wire.recv()
    time.sleep(0.3)
    self.destroyed_soon(box)
    wire.sock.close()
