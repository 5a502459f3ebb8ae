"""F8: no device of the host is there."""


def attempt(self):
    self.both(r'''
for name in ('vda', 'sda', 'kvm', 'fuse', 'loop0', 'loop-control', 'mem',
             'kmsg', 'port', 'net/tun', 'console', 'tty0', 'tty1', 'vsock',
             'vhost-net', 'mapper/control', 'cpu/0/msr', 'hwrng', 'rtc0'):
    refused(name, opens('/dev/' + name), 'ENOENT')
refused('tty, which none is', opens('/dev/tty'), 'ENXIO')
''')
