"""P11: the turn when memory is short is not put off."""


def attempt(self):
    with open('/proc/self/status', encoding='ascii') as file:
        caps = int(file.read().split('CapEff:')[1].split()[0], 16)
    # Only with CAP_SYS_RESOURCE could the broker set what is least.
    values = ['-1000', '-17', '-1'] + ['499'] * (caps >> 24 & 1)
    self.both(r'''
for value in (arg.encode() for arg in sys.argv[1:]):
    try:
        with open('/proc/self/oom_score_adj', 'wb', buffering=0) as file:
            file.write(value)
        print('oom_score_adj', value)
    except PermissionError:
        pass
''', *values)
