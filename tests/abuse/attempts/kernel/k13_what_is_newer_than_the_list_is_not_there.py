"""K13: what is newer than the list is not there."""

# Numbers from 451 on that answer something else than ENOSYS: futexes,
# cachestat, fchmodat2, mseal; see filter.c.
LISTED = {451, 452, 454, 455, 456, 462}


def attempt(self):
    # 335 and 336 are the kernel's own trampolines: it lets them past any
    # filter, and kills who calls them from elsewhere.
    self.both(r'''
listed = set(map(int, sys.argv[1].split(',')))
for number in list(range(451, 600)) + [337, 400, 423, 1000, 1 << 29]:
    if number in listed:
        continue
    refused(number, call(number, 0, 0, 0, 0, 0, 0), 'ENOSYS')
''', ','.join(map(str, sorted(LISTED))))
