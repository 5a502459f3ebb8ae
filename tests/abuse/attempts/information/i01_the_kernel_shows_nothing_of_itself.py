"""I1: the kernel shows nothing of itself."""


def attempt(self):
    self.both(r'''
for name in ('kallsyms', 'kcore', 'modules', 'config.gz', 'cmdline', 'iomem',
             'ioports', 'keys', 'key-users', 'diskstats', 'partitions',
             'buddyinfo', 'zoneinfo', 'vmstat', 'softirqs', 'interrupts',
             'devices', 'consoles', 'crypto', 'cgroups', 'locks', 'swaps',
             'misc', 'timer_list', 'sched_debug', 'slabinfo', 'bootconfig',
             'kmsg', 'vmallocinfo', 'pagetypeinfo', 'latency_stats'):
    fd = opens('/proc/' + name, os.O_RDONLY | os.O_NONBLOCK)
    if isinstance(fd, str):
        refused(name, fd, 'ENOENT', 'EACCES', 'EPERM')
    elif os.read(fd, 10):
        print(name, 'is not empty')
for name in ('acpi', 'asound', 'scsi', 'driver', 'pressure'):
    try:
        if os.listdir('/proc/' + name):
            print(name, 'is not empty')
    except OSError:
        pass
for name in ('kpageflags', 'kpagecount', 'kpagecgroup', 'self/pagemap'):
    fd = opens('/proc/' + name)
    if isinstance(fd, int) and name != 'self/pagemap':
        print(name)
    elif isinstance(fd, int):
        if int.from_bytes(os.pread(fd, 8, 8 * (id(fd) // 4096)),
                          'little') & ((1 << 55) - 1):
            print('physical addresses')
refused('syslog', call(103, 3, page, 4096))
''')
