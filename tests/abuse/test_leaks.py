"""What a sandbox must not learn (research: I1-I11), and what descriptors its
programs hold, seen from outside."""
import os
import re

import stack


def fds(pid):
    found = {}
    for name in os.listdir(f'/proc/{pid}/fd'):
        try:
            found[int(name)] = os.readlink(f'/proc/{pid}/fd/{name}')
        except FileNotFoundError:
            pass
    return found


class Leaks(stack.Case):
    def test_i01_the_kernel_shows_nothing_of_itself(self):
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

    def test_i03_the_environment_is_the_documented_one(self):
        for user in ('root', 'sandbox'):
            done = self.box.run(['/usr/bin/env', '-0'], user=user)
            names = {word.split('=')[0]
                     for word in done.stdout.split('\0') if word}
            self.assertEqual(names, {'HOME', 'USER', 'LOGNAME', 'PATH',
                                     'LANG', 'SHELL'})

    def test_i04_names_of_the_machine_are_not_told(self):
        with open('/proc/sys/kernel/random/boot_id',
                  encoding='ascii') as file:
            boot = file.read().strip()
        seen = self.box.sh(
            'hostname; cat /etc/machine-id /etc/hostname '
            '/proc/sys/kernel/random/boot_id /var/lib/dbus/machine-id '
            '/sys/class/dmi/id/product_uuid; uname -n; '
            'cat /proc/sys/kernel/hostname /proc/sys/kernel/domainname'
        ).stdout
        self.assertNotIn(boot, seen)
        self.assertNotIn(os.uname().nodename, seen)
        self.assertEqual(set(seen.split()), {'sandbox', '(none)'})

    def test_i05_cgroups_show_no_path_of_the_host(self):
        for user in ('root', 'sandbox'):
            seen = self.box.sh('cat /proc/self/cgroup', user=user).stdout
            for line in seen.splitlines():
                self.assertRegex(line, r'^\d+:[^:]*:/(e\d+)?$')
            self.assertNotIn(self.box.id, seen)

    def test_i07_only_the_own_network_is_seen(self):
        seen = self.box.sh('cat /proc/net/unix /proc/net/tcp /proc/net/tcp6 '
                           '/proc/net/udp /proc/net/arp').stdout
        for word in (self.stack.name, 'broker', 'nginx', 'systemd', 'dbus'):
            self.assertNotIn(word, seen)
        self.assertEqual(self.box.sh(
            'tail -n +3 /proc/net/dev | cut -d: -f1').stdout.strip(), 'lo')

    def test_i09_there_is_no_sys(self):
        self.assertEqual(self.box.sh('ls -A /sys').stdout, '')

    def test_i10_the_map_shows_a_slot_and_no_tenant(self):
        seen = self.box.sh('cat /proc/self/uid_map /proc/self/gid_map').stdout
        for line in seen.splitlines():
            inside, outside, count = map(int, line.split())
            self.assertEqual((inside, count), (0, 65536))
            self.assertGreaterEqual(outside, 1 << 28)

    def test_i11_no_other_sandbox_is_named_anywhere(self):
        other = self.stack.sandbox()
        marker = f'marker-{os.getpid()}'
        wire = other.start(['/bin/bash', '-c', f'echo {marker} > /dev/shm/m; '
                            f'echo {marker} > /tmp/{marker}; exec -a {marker} '
                            'sleep 20'])
        wire.recv()
        for user in ('root', 'sandbox'):
            done = self.guest(r'''
words = [w.encode() for w in sys.argv[1:]]
for top in ('/proc', '/run', '/dev/shm', '/tmp', '/var', '/etc', '/home'):
    for path, folders, files in os.walk(top):
        folders[:] = [f for f in folders if not f.isdigit() or
                      int(f) != os.getpid()]
        if path.startswith('/proc/self') or '/task/' in path:
            folders[:] = []
            continue
        for name in files:
            try:
                fd = os.open(os.path.join(path, name),
                             os.O_RDONLY | os.O_NONBLOCK)
                data = os.read(fd, 1 << 18)
                os.close(fd)
            except OSError:
                continue
            for word in words:
                if word in data or word in name.encode():
                    print(os.path.join(path, name), word)
''', other.id, marker, self.stack.name, user=user)
            self.assertEqual((done.code, done.stdout), (0, ''), done)
        wire.sock.close()
        other.destroy()

    def test_i12_a_slot_used_again_shows_nothing_of_before(self):
        old = self.stack.sandbox()
        old.sh('echo secret > /tmp/s; echo secret > /workspace/s; '
               'echo secret > /dev/shm/s; echo secret > /usr/share/s; '
               'python3 -c "import ctypes; '
               'print(ctypes.CDLL(None).shmget(77, 4096, 0o1666))"')
        old.destroy()
        for _ in range(12):
            fresh = self.stack.sandbox()
            seen = fresh.sh('cat /tmp/s /workspace/s /dev/shm/s /usr/share/s; '
                            'tail -n +2 /proc/sysvipc/shm; ls /tmp')
            self.assertEqual(seen.stdout, '')
            fresh.destroy()

    def test_init_has_the_descriptors_it_needs(self):
        _, init = self.box.pids()
        self.box.sh('true')
        found = fds(init)
        self.assertEqual([os.path.basename(found.get(n, ''))
                          for n in range(3)], ['null'] * 3)
        self.assertTrue(found[3].startswith('socket:'))
        self.assertIn(self.box.id, found[4])
        self.assertEqual(sorted(found[n] for n in sorted(found)[5:]),
                         ['anon_inode:[eventpoll]', 'anon_inode:[signalfd]'])

    def test_a_keeper_has_the_descriptors_it_needs(self):
        keeper, _ = self.box.pids()
        self.box.sh('true')
        allowed = (r'^(socket:|pipe:|anon_inode:|/dev/null$|'
                   r'/sys/fs/cgroup/.*/(memory|pids)\.[a-z_]+$|/(.*/)?log$)')
        for number, link in fds(keeper).items():
            self.assertRegex(link, allowed, number)

    def test_an_executor_has_the_descriptors_it_needs(self):
        for kind, most in ((stack.CALL, 2), (stack.KERNEL, 3)):
            wire = self.box.start(['sleep', '30'], kind=kind)
            wire.recv()
            name = 'sleep\x0030\x00'
            pids = [int(p) for p in os.listdir('/proc') if p.isdigit()]
            seen = 0
            for pid in pids:
                try:
                    with open(f'/proc/{pid}/cmdline', encoding='latin-1'
                              ) as file:
                        if file.read() != name:
                            continue
                    with open(f'/proc/{pid}/uid_map', encoding='ascii'
                              ) as file:
                        if file.read().split()[1] == '0':
                            continue
                    found = fds(pid)
                except (FileNotFoundError, ProcessLookupError):
                    continue
                seen += 1
                self.assertLessEqual(max(found), most, found)
            self.assertGreaterEqual(seen, 1)
            self.box.kill(wire.id)
            stack.collect(wire)
            wire.sock.close()

    def test_programs_outside_have_their_powers_only(self):
        keeper, init = self.box.pids()
        slot = self.box.slot()
        for pid, uid, caps in ((keeper, 0x0f000000 + slot, 0),
                               (init, 0x10000000 + slot * 65536 + 65533,
                                sum(1 << c for c in (0, 1, 3, 4, 5, 6, 7, 8,
                                                     31)))):
            with open(f'/proc/{pid}/status', encoding='ascii') as file:
                status = dict(line.split(':', 1) for line in file)
            self.assertEqual(status['Uid'].split(), [str(uid)] * 4)
            self.assertEqual(status['Gid'].split(), [str(uid)] * 4)
            self.assertEqual(status['Groups'].split(), [])
            self.assertEqual(status['NoNewPrivs'].strip(), '1')
            for name in ('CapPrm', 'CapEff', 'CapInh', 'CapAmb'):
                self.assertEqual(int(status[name], 16) & ~caps, 0, name)
        self.assertEqual(os.listdir(f'/proc/{keeper}/root'), [])


if __name__ == '__main__':
    stack.main()
