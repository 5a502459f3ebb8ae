"""Reads and writes the kernel's own files."""
import os

from guard import got, unreadable, unwritable

for name in ('kcore', 'kallsyms', 'kmsg', 'keys', 'key-users', 'iomem',
             'ioports', 'cmdline', 'config.gz', 'interrupts', 'diskstats',
             'partitions', 'slabinfo', 'vmallocinfo', 'timer_list',
             'sysrq-trigger'):
    unreadable('/proc/' + name)
for path in ('/proc/sysrq-trigger', '/proc/sys/kernel/core_pattern',
             '/proc/sys/kernel/hostname', '/proc/sys/vm/drop_caches',
             '/proc/sys/kernel/modprobe', '/proc/sys/fs/binfmt_misc/register',
             '/proc/sys/user/max_user_namespaces', '/proc/bus/pci/devices',
             '/proc/irq/default_smp_affinity', '/proc/self/oom_score_adj'):
    unwritable(path, b'-1000' if path.endswith('adj') else b'x')
for path in ('/dev/mem', '/dev/kmsg', '/dev/kvm', '/dev/fuse', '/dev/port',
             '/dev/loop-control', '/dev/net/tun', '/dev/sda', '/dev/vda'):
    unreadable(path)
for path in ('/sys/kernel', '/sys/fs/cgroup', '/sys/class'):
    if os.path.exists(path):
        got('there is ' + path)
for kind, mode in (('block', 0o60600), ('character', 0o20600)):
    try:
        os.mknod('/tmp/device', mode, os.makedev(1, 1))
        got('made a device: ' + kind)
    except OSError:
        pass
with open('/proc/self/cgroup') as file:
    for line in file:
        if line.rstrip('\n').rsplit(':', 1)[1].count('/') > 2:
            got('a path of the host: ' + line.strip())
