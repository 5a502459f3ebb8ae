"""I6: no link of /proc, of any process that is seen, names a path of the
host."""


def attempt(self):
    self.both(r'''
import glob
words = [word for word in sys.argv[1:]]
for path in glob.glob('/proc/[0-9]*/fd/*') + \
        glob.glob('/proc/[0-9]*/[ecr]*') + glob.glob('/proc/*/map_files/*') + \
        glob.glob('/proc/self/task/*/*') + glob.glob('/proc/*/ns/*'):
    try:
        to = os.readlink(path)
    except OSError:
        continue
    for word in words:
        if word in to:
            print(path, to)
for path in ('/proc/self/maps', '/proc/self/mounts', '/proc/self/mountstats',
             '/proc/self/mountinfo', '/proc/self/smaps'):
    try:
        text = open(path).read()
    except OSError:
        continue
    for word in words:
        if word in text:
            print(path, word)
''', self.stack.data, self.stack.name, self.box.id, '/sandboxes', '/images',
              '/var/lib/warren')
