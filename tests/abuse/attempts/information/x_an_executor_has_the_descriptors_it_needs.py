"""An executor has the descriptors it needs."""
import os

import outside
import stack


def attempt(self):
    for kind, most in ((stack.CALL, 2), (stack.KERNEL, 3)):
        wire = self.box.start(['sleep', '30'], kind=kind)
        wire.recv()
        name = 'sleep\x0030\x00'
        pids = [int(p) for p in os.listdir('/proc') if p.isdigit()]
        seen = 0
        for pid in pids:
            try:
                with open(f'/proc/{pid}/cmdline', encoding='latin-1'
                          ) as file:
                    if file.read() != name:
                        continue
                with open(f'/proc/{pid}/uid_map', encoding='ascii'
                          ) as file:
                    if file.read().split()[1] == '0':
                        continue
                found = outside.fds(pid)
            except (FileNotFoundError, ProcessLookupError):
                continue
            seen += 1
            self.assertLessEqual(max(found), most, found)
        self.assertGreaterEqual(seen, 1)
        self.box.kill(wire.id)
        stack.collect(wire)
        wire.sock.close()
