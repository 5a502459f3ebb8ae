"""An attempt that finds nothing proves nothing unless it finds holes where
there are some: each guest of `warren selftest` runs in bare namespaces, with
ids mapped as a sandbox has them and no other wall, and must tell what got
through. And none of them may run on the machine itself."""
import glob
import os
import subprocess
import sys
import tempfile
import unittest

GUESTS = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                      '..', '..', 'store', 'selftest')
NAMES = sorted(os.path.basename(path)[:-3]
               for path in glob.glob(os.path.join(GUESTS, '*.py'))
               if not path.endswith('guard.py'))
# What each must find in bare namespaces, a part of its output.
HOLES = {
    'capabilities': 'CapEff has', 'clone3': 'clone3',
    'host_files': 'read /', 'io_uring': 'io_uring_setup',
    'kernel_surface': 'bpf', 'keyring': 'keyctl', 'mount': 'mount of a tmpfs',
    'namespaces': 'unshare user', 'proc_masks': 'read /proc/cmdline',
    'ptrace_init': 'listed /proc/1/fd', 'raw_sockets': 'a socket: raw IPv4',
    'fork_bomb': '17 processes with a limit of 16',
    'kill_all': 'a foreign process', 'memory_bomb': 'a GiB of memory',
}
# Without a network there is nothing to reach, but for what a device shows.
QUIET = {'network'}
BARE = os.path.join(os.path.dirname(os.path.realpath(__file__)), 'bare.py')


def copy_of_guests(to):
    for path in glob.glob(os.path.join(GUESTS, '*.py')):
        with open(path, encoding='utf-8') as file:
            text = file.read()
        copy = os.path.join(to, os.path.basename(path))
        with open(copy, 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(copy, 0o644)
    os.chmod(to, 0o755)


def bare(script, *args):
    """A shell script in bare namespaces: (exit code, output)."""
    done = subprocess.run(
        ['python3', '-B', BARE, 'sh', '-c', script, 'sh', *args],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
        check=False)
    return done.returncode, done.stdout.decode()


class Guests(unittest.TestCase):
    def test_each_guest_is_known_here(self):
        self.assertEqual(set(NAMES), set(HOLES) | QUIET)

    def test_none_runs_on_the_machine_itself(self):
        for name in NAMES:
            with self.subTest(name):
                done = subprocess.run(
                    ['python3', '-B', os.path.join(GUESTS, name + '.py'), '1'],
                    stdout=subprocess.PIPE, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn(b'not in a sandbox', done.stdout)

    def test_each_tells_what_gets_through(self):
        with tempfile.TemporaryDirectory() as directory:
            copy_of_guests(directory)
            secret = os.path.join(directory, 'secret')
            with open(secret, 'w', encoding='utf-8') as file:
                file.write('of the host\n')
            os.chmod(secret, 0o644)
            arguments = {'host_files': [secret], 'fork_bomb': ['16'],
                         'network': ['80']}
            for name, hole in HOLES.items():
                with self.subTest(name):
                    # Another process for kill_all, which as PID 1 leaves it
                    # a zombie: a shell might have reaped it by then.
                    code, out = bare(
                        'sleep 60 & exec python3 -B "$@"'
                        if name == 'kill_all' else
                        'sleep 60 & python3 -B "$@"; exit $?',
                        f'{directory}/{name}.py', *arguments.get(name, []))
                    self.assertEqual(code, 1, out)
                    self.assertIn(hole, out)

    def test_a_network_that_leads_out_is_told(self):
        # The guest's own loopback has what listens on the host's here.
        script = ('ip link set lo up; python3 -B -m http.server -b 127.0.0.1 '
                  '8123 >/dev/null 2>&1 & sleep 1; exec python3 -B "$1" 8123')
        with tempfile.TemporaryDirectory() as directory:
            copy_of_guests(directory)
            code, out = bare(script, f'{directory}/network.py')
            self.assertEqual(code, 1, out)
            self.assertIn('connected to 127.0.0.1 port 8123', out)


if __name__ == '__main__':
    if os.getuid() != 0:
        print('skipped: needs root, to map 65,536 ids')
        sys.exit(77)
    unittest.main(verbosity=2)
