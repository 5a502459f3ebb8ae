"""F13: the programs outside are not written."""
import outside
import stack


def attempt(self):
    programs = [f'{stack.BIN}/warren-init', '/usr/bin/python3',
                f'{stack.BIN}/warren-keeper']
    before = [outside.checksum(path) for path in programs]
    self.both(r'''
for path in ('/proc/1/exe', '/proc/1/root/etc/passwd', '/proc/1/mem',
             '/proc/1/fd/3', '/proc/1/cwd/x'):
    for flags in (os.O_RDONLY, os.O_RDWR):
        refused((path, flags), opens(path, flags), 'ENOENT', 'EACCES', 'EPERM')
refused('self', opens('/proc/self/exe', os.O_WRONLY), 'ETXTBSY', 'EACCES')
# The file executor is init's own program: catch it at work.
import glob, time
end = time.monotonic() + 1.5
while time.monotonic() < end:
    for exe in glob.glob('/proc/[0-9]*/exe'):
        try:
            if 'warren-init' in os.readlink(exe):
                print('seen', exe, opens(exe, os.O_RDWR))
        except OSError:
            pass
''')
    self.assertEqual([outside.checksum(path) for path in programs], before)
