"""K22: the switches of the kernel are not touched."""


def attempt(self):
    self.both(r'''
for path in ('/proc/sysrq-trigger', '/proc/sys/kernel/core_pattern',
             '/proc/sys/kernel/hostname', '/proc/sys/kernel/modprobe',
             '/proc/sys/vm/overcommit_memory', '/proc/sys/vm/drop_caches',
             '/proc/sys/net/ipv4/ip_forward', '/proc/sys/fs/file-max',
             '/proc/sys/user/max_user_namespaces', '/proc/irq/0/smp_affinity',
             '/proc/sys/kernel/ns_last_pid', '/proc/bus/pci/00',
             '/proc/sys/fs/binfmt_misc/register', '/proc/self/timens_offsets',
             '/proc/self/uid_map', '/proc/self/gid_map',
             '/proc/self/setgroups', '/proc/1/oom_score_adj',
             '/proc/self/attr/current'):
    try:
        with open(path, 'wb', buffering=0) as file:
            file.write(b'0')
        if os.stat(path).st_rdev != os.stat('/dev/null').st_rdev:
            print(path)
    except OSError as e:
        refused(path, errno.errorcode[e.errno], 'EROFS', 'ENOENT', 'EACCES',
                'EPERM', 'EINVAL', 'EISDIR')
''')
