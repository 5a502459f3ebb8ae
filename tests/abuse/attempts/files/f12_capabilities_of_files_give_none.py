"""F12: capabilities of files give none."""


def attempt(self):
    done = self.guest(r'''
import shutil, struct
shutil.copy('/usr/bin/cat', '/workspace/capcat')
os.chmod('/workspace/capcat', 0o755)
caps = struct.pack('<IIIII', 0x02000001, 0xffffffff, 0, 0x1ff, 0)
try:
    os.setxattr('/workspace/capcat', 'security.capability', caps)
except OSError as e:
    pass
''')
    self.assertEqual(done.code, 0, done)
    done = self.box.sh('/workspace/capcat /proc/self/status',
                       user='sandbox')
    for line in done.stdout.splitlines():
        if line.startswith('Cap'):
            self.assertEqual(int(line.split()[1], 16), 0, line)
