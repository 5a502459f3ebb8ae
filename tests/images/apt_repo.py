"""A tiny apt repository, made of nothing but what dpkg-deb packs, and served in
a world (net_world) on a public-looking address."""
import email.utils
import gzip
import hashlib
import os
import subprocess
import sys
import textwrap

import net_world

NAME = 'ok.example'  # the world's resolver knows it as net_world.NAMED
PORT = 8090


def arch():
    return subprocess.run(['dpkg', '--print-architecture'], check=True,
                          capture_output=True, text=True).stdout.strip()


class Repo:
    """Packages of a repository below a directory; the test adds to them."""

    def __init__(self, dir_):
        self.dir = os.path.join(dir_, 'repo')
        os.mkdir(self.dir)
        self.index = ''
        self.server = None

    def add(self, name, files, *, version='1.0', depends='', scripts=None,
            conffiles=()):
        """Pack files {path: (mode, text)} and scripts {postinst: text}."""
        tree = os.path.join(self.dir, name)
        control = f'''Package: {name}
Version: {version}
Architecture: {arch()}
Maintainer: Nobody <nobody@ok.example>
{'Depends: ' + depends + chr(10) if depends else ''}Description: a test
'''
        put(tree, 'DEBIAN/control', 0o644, control)
        for script, body in (scripts or {}).items():
            put(tree, f'DEBIAN/{script}', 0o755,
                '#!/bin/sh\nset -e\n' + textwrap.dedent(body))
        if conffiles:
            put(tree, 'DEBIAN/conffiles', 0o644, '\n'.join(conffiles) + '\n')
        for path, (mode, body) in files.items():
            put(tree, path, mode, body)
        deb = f'{name}_{version}.deb'
        path = os.path.join(self.dir, deb)
        subprocess.run(['dpkg-deb', '--root-owner-group', '-b', tree, path],
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run(['rm', '-rf', tree], check=True)
        with open(path, 'rb') as file:
            data = file.read()
        self.index += (control + f'Filename: ./{deb}\nSize: {len(data)}\n'
                       f'SHA256: {hashlib.sha256(data).hexdigest()}\n\n')

    def fill(self):
        """A library with a user of its own, and a program that needs it."""
        self.add('wtest-lib', {
            '/usr/lib/wtest/word': (0o644, 'word\n'),
            '/var/lib/wtest/state': (0o644, 'state\n'),
        }, scripts={
            # What usual packages do: users, owners, modes, links.
            'postinst': '''\
                adduser --system --group --no-create-home \\
                    --gecos "A test,,," --home /nonexistent wtest >/dev/null
                su -s /bin/sh -c 'test "$(id -un)" = wtest' wtest
                runuser -u wtest -- test ! -w /etc
                chown wtest:adm /var/lib/wtest
                chmod 2750 /var/lib/wtest
                chown man:www-data /var/lib/wtest/state
                chmod 4755 /usr/lib/wtest/word
                ln -sf word /usr/lib/wtest/link
                ldconfig
                ''',
            'postrm': '''\
                [ "$1" = purge ] || exit 0
                rm -rf /var/lib/wtest /usr/lib/wtest
                deluser --quiet wtest
                '''})
        self.add_program('1.0', 'hello')
        self.add_program('2.0', 'welcome')
        self.add_daemon()

    def add_program(self, version, greeting):
        self.add('wtest', {
            '/usr/bin/wtest': (0o755, f'''\
                #!/bin/sh
                . /etc/wtest.conf
                echo "$GREETING {version} $(cat /usr/lib/wtest/word)"
                '''),
            '/etc/wtest.conf': (0o644, f'GREETING={greeting}\n'),
            '/usr/share/man/man1/wtest.1': (0o644, '.TH wtest 1\n'),
        }, version=version, depends='wtest-lib (>= 1.0), bash, libc6',
            conffiles=['/etc/wtest.conf'], scripts={
                'preinst': 'test "$(id -u)" = 0\n',
                # By debconf, as most daemons are.
                'postinst': '''\
                    . /usr/share/debconf/confmodule
                    db_version 2.0
                    update-alternatives --install /usr/bin/wtest-any \\
                        wtest-any /usr/bin/wtest 10 >&2
                    ''',
                'prerm': '''\
                    [ "$1" = upgrade ] ||
                        update-alternatives --remove wtest-any /usr/bin/wtest
                    '''})

    def add_daemon(self):
        self.add('wtestd', {
            '/etc/init.d/wtestd': (0o755, '''\
                #!/bin/sh
                ### BEGIN INIT INFO
                # Provides:          wtestd
                # Required-Start:    $remote_fs
                # Required-Stop:     $remote_fs
                # Default-Start:     2 3 4 5
                # Default-Stop:      0 1 6
                # Short-Description: test
                ### END INIT INFO
                touch "/run/wtestd"
                '''),
        }, conffiles=['/etc/init.d/wtestd'], scripts={
            'postinst': '''\
                update-rc.d wtestd defaults >/dev/null
                invoke-rc.d wtestd start
                '''})

    def publish(self):
        """Packages.gz and Release, as an archive has them."""
        with open(os.path.join(self.dir, 'Packages'), 'w',
                  encoding='ascii') as file:
            file.write(self.index)
        packed = gzip.compress(self.index.encode())
        with open(os.path.join(self.dir, 'Packages.gz'), 'wb') as file:
            file.write(packed)
        lines = ''.join(
            f' {hashlib.sha256(data).hexdigest()} {len(data)} {name}\n'
            for name, data in (('Packages', self.index.encode()),
                               ('Packages.gz', packed)))
        with open(os.path.join(self.dir, 'Release'), 'w',
                  encoding='ascii') as file:
            file.write('Origin: test\nSuite: test\nDate: ' + email.utils.
                       formatdate(usegmt=True) + '\nSHA256:\n' + lines)

    def serve(self, world, address=net_world.NAMED):
        """In the world, from now on."""
        program = ('import functools, http.server as h, sys; '
                   's = h.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])),'
                   ' functools.partial(h.SimpleHTTPRequestHandler, '
                   'directory=sys.argv[3])); print("ready", flush=True); '
                   's.serve_forever()')
        self.server = subprocess.Popen(
            ['nsenter', f'--net=/run/netns/{world.world}', sys.executable,
             '-c', program, address, str(PORT), self.dir],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        if self.server.stdout.readline() != b'ready\n':
            raise AssertionError('no repository')

    def close(self):
        if self.server:
            self.server.kill()
            self.server.wait()
            self.server.stdout.close()

    @staticmethod
    def source():
        """A line for sources.list; nobody signed it."""
        return f'deb [trusted=yes] http://{NAME}:{PORT}/ ./'


def put(tree, path, mode, body):
    path = os.path.join(tree, path.lstrip('/'))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='ascii') as file:
        file.write(textwrap.dedent(body))
    os.chmod(path, mode)
