"""The namespace belongs to no one inside. No capability counts there: its
owner is the first namespace."""
import subprocess
import sys


def attempt(self):
    _, init = self.box.pids()
    owner = subprocess.run(
        [sys.executable, '-c', '''
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
print(os.fstat(fcntl.ioctl(fd, 0xb701)).st_ino)
print(os.stat('/proc/self/ns/user').st_ino)
''', f'/proc/{init}/ns/net'], check=True, capture_output=True,
        text=True).stdout.split()
    self.assertEqual(owner[0], owner[1])
