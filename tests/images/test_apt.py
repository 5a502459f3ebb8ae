"""apt-get as root of a sandbox with policy internet: packages of a repository
in the world are installed, run, upgraded and removed."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'abuse'))

import apt_repo  # noqa: E402
import debian_image  # noqa: E402
import net_world  # noqa: E402
import stack  # noqa: E402


class Base(net_world.Case):
    """What holds in any image that has apt."""

    image = 'host'

    @classmethod
    def setUpClass(cls):
        if cls is Base:
            raise stack.unittest.SkipTest('what others run')
        super().setUpClass()
        dir_ = tempfile.TemporaryDirectory(prefix='warren-apt-')
        cls.addClassCleanup(dir_.cleanup)
        os.chmod(dir_.name, 0o755)
        cls.prepare(dir_.name)
        cls.repo = apt_repo.Repo(dir_.name)
        cls.addClassCleanup(cls.repo.close)
        cls.repo.fill()
        cls.repo.publish()
        cls.repo.serve(cls.world)
        cls.new_box()

    @classmethod
    def prepare(cls, dir_):
        """Before anything is started in the image."""

    @classmethod
    def new_box(cls):
        cls.box.destroy()
        cls.box = cls.net.open(image=cls.image)
        cls.must('cat > /etc/apt/sources.list <<< "$1"', cls.repo.source())
        cls.update = cls.must('apt-get update 2>&1')

    @classmethod
    def must(cls, command, *args):
        done = cls.box.run(['/bin/bash', '-c', command, 'bash', *args],
                           user='root', wait=90)
        if done.code != 0:
            raise AssertionError(f'{command}: {done}')
        return done.stdout

    def test_a_package_is_installed_runs_and_is_removed(self):
        self.new_box()
        said = self.must('apt-get install -y wtest=1.0 2>&1')
        for sign in ('unsandboxed', '\nW: ', '\nE: '):
            self.assertNotIn(sign, said)
        self.assertEqual(self.must('wtest; wtest-any'),
                         'hello 1.0 word\n' * 2)
        self.assertEqual(self.box.run(['wtest'], user='sandbox').stdout,
                         'hello 1.0 word\n')
        self.assertEqual(
            self.must('stat -c "%U:%G %a" /var/lib/wtest '
                      '/var/lib/wtest/state /usr/lib/wtest/word; '
                      'readlink /usr/lib/wtest/link'),
            'wtest:adm 2750\nman:www-data 644\nroot:root 4755\nword\n')
        self.must('dpkg --verify wtest && apt-get check && '
                  'test -z "$(dpkg --audit)"')
        self.must('apt-get purge -y wtest wtest-lib 2>&1')
        self.assertEqual(self.must(
            'ls -d /usr/bin/wtest* /usr/lib/wtest /etc/wtest.conf '
            '/var/lib/wtest 2>/dev/null; getent passwd wtest; '
            'dpkg-query -W "wtest*" 2>/dev/null; true'), '')

    def test_an_upgrade_keeps_settings_that_were_changed(self):
        self.new_box()
        self.must('apt-get install -y wtest=1.0')
        self.must('echo GREETING=mine > /etc/wtest.conf')
        self.must('apt-get install -y wtest 2>&1')
        self.assertEqual(self.must('wtest'), 'mine 2.0 word\n')

    def test_a_daemon_is_not_started_by_its_installation(self):
        self.new_box()
        said = self.must('apt-get install -y wtestd 2>&1')
        self.assertIn('policy-rc.d denied execution of start', said)
        self.must('! test -e /run/wtestd && /etc/init.d/wtestd start && '
                  'test -e /run/wtestd')

    def test_what_comes_from_the_network_is_read_by_apts_own_user(self):
        self.must('mkdir -m 0777 /tmp/seen && printf "%s\\n" "#!/bin/sh" '
                  '"id -un > /tmp/seen/by" "echo DIRECT" > /tmp/detect && '
                  'chmod 0755 /tmp/detect && '
                  'apt-get -o Acquire::http::Proxy-Auto-Detect=/tmp/detect '
                  'update 2>&1')
        self.assertEqual(self.must('cat /tmp/seen/by; stat -c "%U %a" '
                                   '/var/lib/apt/lists/partial'),
                         '_apt\n_apt 700\n')


class Host(Base):
    def test_packages_of_the_machine_are_told_as_installed(self):
        said = self.must('apt-get install -y curl python3 git 2>&1')
        self.assertNotIn('debconf: ', self.must(
            'apt-get install -y wtest 2>&1'))
        for name in ('curl', 'python3', 'git'):
            self.assertIn(f'{name} is already the newest version', said)
        self.assertEqual(self.must('dpkg -S /usr/bin/curl'),
                         'curl: /usr/bin/curl\n')
        self.must('apt-get check && test -z "$(dpkg --audit)"')
        self.must('dpkg --force-depends -r less && ! command -v less')

    def test_nothing_of_the_machine_but_its_packages_is_in_the_image(self):
        fresh = self.net.open()
        try:
            files = fresh.sh('find /var -xdev -type f').stdout.split()
            answers = fresh.sh('cat /var/cache/debconf/config.dat').stdout
            users = fresh.sh('cut -d : -f 1,2 /etc/passwd').stdout.split()
        finally:
            fresh.destroy()
        dirs = ('info/', 'alternatives/', 'triggers/')
        self.assertEqual(
            {f for f in files if not f.startswith(tuple(
                '/var/lib/dpkg/' + d for d in dirs))},
            {'/var/lib/dpkg/' + f for f in
             ('status', 'diversions', 'statoverride')} |
            {'/var/cache/debconf/' + f for f in
             ('config.dat', 'passwords.dat', 'templates.dat')})
        self.assertEqual(answers.count('Name: '), 1)
        self.assertIn('Value: Noninteractive', answers)
        with open('/usr/share/base-passwd/passwd.master',
                  encoding='ascii') as file:
            known = {line.split(':')[0] + ':x' for line in file}
        self.assertEqual(set(users), known | {'_apt:x', 'sandbox:x'})

    def test_low_ports_and_ping_are_for_all_users(self):
        for user in ('root', 'sandbox'):
            with self.subTest(user=user):
                got = self.box.py('''
l = socket.create_server(('0.0.0.0', 80))
c = socket.create_connection(('127.0.0.1', 80), 3)
l.accept()[0].sendall(b'served')
print(c.recv(10).decode())
p = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
p.settimeout(5)
for to in ('127.0.0.1', sys.argv[1]):
    p.sendto(struct.pack('>BBHHH', 8, 0, 0, 0, 1) + b'x' * 8, (to, 0))
    answer, who = p.recvfrom(100)
    print(answer[0], who[0])
try:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
except OSError as e:
    print(name(e))
''', net_world.PUBLIC, user=user)
                self.assertEqual(
                    got.stdout, 'served\n0 127.0.0.1\n'
                    f'0 {net_world.PUBLIC}\nEPERM\n', got)


class Imported(Base):
    """A Debian that came by warren image import."""

    image = 'debian'

    @classmethod
    def prepare(cls, dir_):
        subprocess.run([f'{stack.BIN}/warren', '--data', cls.net.data, 'image',
                        'import', cls.image, debian_image.compose(dir_)],
                       check=True, stdout=subprocess.DEVNULL)

    def test_it_is_no_image_of_the_machine(self):
        self.must('! test -e /usr/bin/git && ! test -e /usr/bin/python3')


if __name__ == '__main__':
    stack.main()
