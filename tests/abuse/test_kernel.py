"""The kernel's surface: attempts that must fail (research: K1-K22)."""
import platform

import stack

# Numbers from 451 on that answer something else than ENOSYS: futexes,
# cachestat, fchmodat2, mseal; see filter.c.
LISTED = {451, 452, 454, 455, 456, 462}


class Kernel(stack.Case):
    def refuses(self, *calls):
        """calls: (name, number, arguments as text, allowed errnos)."""
        self.both('import struct\n' + ''.join(
            f'refused({name!r}, call({number}{args and ", " + args}), '
            f'{", ".join(map(repr, allowed or ("EPERM",)))})\n'
            for name, number, args, *allowed in calls))

    def test_k01_io_uring_is_not_there(self):
        self.refuses(('setup', 425, '8, page', 'ENOSYS'),
                     ('enter', 426, '0, 1, 1, 0, 0, 0', 'ENOSYS'),
                     ('register', 427, '0, 0, page, 0', 'ENOSYS'))

    def test_k01_the_older_queue_is_not_there(self):
        """Its contexts are counted for the whole machine."""
        self.refuses(('io_setup', 206, '1, page', 'ENOSYS'),
                     ('io_submit', 209, '0, 0, page', 'ENOSYS'))

    def test_k02_to_k06_tools_of_the_machine_are_refused(self):
        self.refuses(
            *((f'bpf {n}', 321, f'{n}, page, 72') for n in range(0, 38)),
            ('perf_event_open', 298, 'page, 0, -1, -1, 0'),
            ('userfaultfd', 323, '0'), ('userfaultfd user', 323, '1'),
            *((f'keyctl {n}', 250, f'{n}, -3, 1') for n in range(0, 33)),
            ('add_key', 248, 'b"user", b"a", b"b", 1, -2'),
            ('request_key', 249, 'b"user", b"a", 0, -2'),
            ('kexec_load', 246, '0, 0, 0, -1'),
            ('kexec_file_load', 320, '-1, -1, 0, 0, 0'),
            ('init_module', 175, 'page, 4096, b""'),
            ('finit_module', 313, '-1, b"", 0'),
            ('delete_module', 176, 'b"none", 0'))

    def test_k07_the_machine_is_not_administered(self):
        self.refuses(
            ('mount', 165, 'b"none", b"/tmp", b"tmpfs", 0, 0'),
            ('umount2', 166, 'b"/tmp", 0'),
            ('pivot_root', 155, 'b"/tmp", b"/tmp"'),
            ('chroot', 161, 'b"/tmp"'),
            ('swapon', 167, 'b"/none", 0'), ('swapoff', 168, 'b"/none"'),
            ('acct', 163, 'b"/none"'), ('quotactl', 179, '0, b"/none", 0, 0'),
            ('reboot', 169, '0, 0, 0, 0'), ('syslog', 103, '3, page, 4096'),
            ('vhangup', 153, ''), ('settimeofday', 164, 'page, 0'),
            ('clock_settime', 227, '0, struct.pack("qq", -1, -1)'),
            ('adjtimex', 159, 'struct.pack("I", 0x8000) + bytes(300)'),
            ('clock_adjtime', 305, '0, bytes(300)'),
            ('sethostname', 170, 'b"x", 1'),
            ('setdomainname', 171, 'b"x", 1'), ('iopl', 172, '3'),
            ('ioperm', 173, '0, 1, 1'))

    def test_k08_to_k10_others_are_not_entered(self):
        self.refuses(
            ('ptrace', 101, '0, 0, 0, 0'), ('attach', 101, '16, 1, 0, 0'),
            ('readv', 310, 'os.getpid(), page, 1, page, 1, 0'),
            ('writev', 311, 'os.getpid(), page, 1, page, 1, 0'),
            ('kcmp', 312, '1, 1, 0, 0, 0'), ('pidfd_getfd', 438, '0, 0, 0'),
            ('process_madvise', 440, '0, page, 1, 0, 0'),
            ('clone3', 435, 'page, 88', 'ENOSYS'), ('unshare', 272, '0'),
            ('setns', 308, '0, 0'),
            ('name_to_handle_at', 303, '-100, b"/", page, page, 0'),
            ('open_by_handle_at', 304, '-100, page, 0'))

    def test_k11_ioctls_with_power_are_refused(self):
        self.refuses(
            ('TIOCSTI', 16, '0, 0x5412, b"x"'),
            ('TIOCSTI high', 16, '0, 0x5412 | 1 << 32, b"x"'),
            ('TIOCSTI sign', 16, '0, 0x5412 | 0xffffffff << 32, b"x"'),
            ('TIOCLINUX', 16, '0, 0x541c, b"\\2"'),
            ('TIOCLINUX high', 16, '0, 0x541c | 1 << 40, b"\\2"'))
        self.both(r'''
import fcntl, struct
path = '/workspace/flags%d' % os.getuid()
fd = os.open(path, os.O_CREAT | os.O_RDONLY)
for number, arg in ((0x40086602, struct.pack('l', 0x10)),
                    (0x40086602, struct.pack('l', 0x20)),
                    (0xc0045877, struct.pack('i', 0)),
                    (0xc0045878, struct.pack('i', 0)),
                    (0x12 << 8 | 119, struct.pack('i', 0))):
    try:
        fcntl.ioctl(fd, number, arg)
        print('ioctl', hex(number))
    except OSError as e:
        refused(hex(number), errno.errorcode[e.errno], 'EPERM', 'ENOTTY',
                'EOPNOTSUPP', 'ENOTSUP', 'EINVAL', 'ENOTBLK')
''')

    def test_k12_other_doors_into_the_kernel_are_shut(self):
        # mov eax, nr; int 0x80 | syscall; ret
        self.both(r'''
import mmap
kept = []
def code(data):
    m = mmap.mmap(-1, 4096, prot=7)
    m.write(data)
    kept.append(m)
    at = ctypes.addressof(ctypes.c_char.from_buffer(m))
    return ctypes.CFUNCTYPE(ctypes.c_long)(at)
i386 = code(b'\xb8\x14\x00\x00\x00\xcd\x80\xc3')
x32 = code(b'\xb8\x27\x00\x00\x40\x0f\x05\xc3')
native = code(b'\xb8\x27\x00\x00\x00\x0f\x05\xc3')
if native() != os.getpid():
    print('the test itself')
def run(fn):
    got = fn()
    if got > 0:
        print('executed', got)
    os._exit(0 if got == -38 else 3)
refused('int 0x80', apart(lambda: run(i386)), -31, 0)
refused('x32', apart(lambda: run(x32)), -31, 0)
refused('high', apart(lambda: call(0x7fffffff)), -31, 0)
''')

    def test_k13_what_is_newer_than_the_list_is_not_there(self):
        # 335 and 336 are the kernel's own trampolines: it lets them past any
        # filter, and kills who calls them from elsewhere.
        self.both(r'''
listed = set(map(int, sys.argv[1].split(',')))
for number in list(range(451, 600)) + [337, 400, 423, 1000, 1 << 29]:
    if number in listed:
        continue
    refused(number, call(number, 0, 0, 0, 0, 0, 0), 'ENOSYS')
''', ','.join(map(str, sorted(LISTED))))

    def test_k14_to_k19_old_and_odd_calls(self):
        self.refuses(
            ('personality', 135, '0x0200000', 'ENOSYS', 'EPERM'),
            ('READ_IMPLIES_EXEC', 135, '0x0400000', 'ENOSYS', 'EPERM'),
            ('modify_ldt', 154, '1, page, 16', 'ENOSYS', 'EPERM'),
            ('fanotify_init', 300, '0, 0'), ('uselib', 134, 'b"x"', 'ENOSYS'),
            ('lookup_dcookie', 212, '0, page, 8', 'ENOSYS', 'EPERM'),
            ('nfsservctl', 180, '0, 0, 0', 'ENOSYS'),
            ('ustat', 136, '0, page', 'ENOSYS'),
            ('sysfs', 139, '3', 'ENOSYS'), ('_sysctl', 156, 'page', 'ENOSYS'),
            ('mbind', 237, '0, 0, 0, 0, 0, 0'),
            ('migrate_pages', 256, '0, 0, 0, 0'),
            ('move_pages', 279, '0, 0, 0, 0, 0, 0'),
            ('set_mempolicy', 238, '0, 0, 0'))

    def test_k18_an_own_filter_weakens_nothing(self):
        self.both(r'''
import struct
# allow all: one instruction
insn = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))
prog = struct.pack('HxxxxxxP', 1, ctypes.addressof(insn))
call(317, 1, 0, prog)
call(317, 1, 8, prog)
refused('mount', call(165, b'none', b'/tmp', b'tmpfs', 0, 0))
refused('unshare', call(272, 0x10000000))
refused('io_uring', call(425, 8, page), 'ENOSYS')
''')

    def test_k20_what_programs_need_works(self):
        for user in ('root', 'sandbox'):
            done = self.box.sh(
                'python3 -c "import threading, ssl, multiprocessing, '
                'asyncio, subprocess; asyncio.run(asyncio.sleep(0)); '
                'print(subprocess.run([\'true\']).returncode)"; '
                'node -e "console.log(new Map().size)"; '
                'bash -c "cat <(echo deep) | tr a-z A-Z"', user=user)
            self.assertEqual(done.stdout, '0\n0\nDEEP\n', done)

    def test_k21_timers_end_before_the_machine_does(self):
        self.both(r'''
made = 0
while made < 20000:
    got = call(222, 1, 0, page)
    if isinstance(got, str):
        refused('timer_create', got, 'EAGAIN')
        break
    made += 1
if not 10 < made < 20000:
    print(made)
''')

    def test_k22_the_switches_of_the_kernel_are_not_touched(self):
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


if __name__ == '__main__':
    if platform.machine() != 'x86_64':
        print('skipped: the calls are given by their x86-64 numbers')
        raise SystemExit(77)
    stack.main()
