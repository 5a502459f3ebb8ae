"""Looks for powers: capabilities, new privileges, an absent filter."""
import ctypes
import os

from guard import call, got

# chown, dac_override, fowner, fsetid, kill, setgid, setuid, setfcap
MAY = sum(1 << bit for bit in (0, 1, 3, 4, 5, 6, 7, 31))
with open('/proc/self/status') as file:
    status = dict(line.rstrip('\n').split(':\t', 1) for line in file
                  if ':\t' in line)
for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'):
    more = int(status[name], 16) & ~MAY
    if more:
        got(f'{name} has {more:#x}')
if status['NoNewPrivs'].strip() != '1':
    got('new privileges')
if status['Seccomp'].strip() != '2':
    got('no system call filter')
if status['Groups'].strip():
    got('groups of the host: ' + status['Groups'].strip())
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
every = (ctypes.c_uint32 * 6)(*[0xffffffff] * 6)
if call(126, header, every)[0] == 0:
    got('all capabilities by capset')
if call(157, 47, 2, 21, 0, 0)[0] == 0:
    got('an ambient capability')
try:
    os.nice(-5)
    got('a better priority')
except OSError:
    pass
