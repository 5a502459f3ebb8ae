"""warren image import, list and remove: what gets in, what is refused, and
that nothing is written anywhere else."""
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'abuse'))

import stack  # noqa: E402
from small_image import BUSYBOX, Tar  # noqa: E402


class Imports(unittest.TestCase):
    """The command alone, on a data directory without a service."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix='warren-import-')
        self.addCleanup(shutil.rmtree, self.dir)
        os.chmod(self.dir, 0o755)
        self.data = os.path.join(self.dir, 'data')
        self.images = os.path.join(self.data, 'images')
        os.makedirs(self.images)
        os.mkdir(os.path.join(self.data, 'db'), 0o750)
        shutil.chown(os.path.join(self.data, 'db'), 'warren', 'warren')
        self.warren('migrate')

    def run_warren(self, *args, **how):
        return subprocess.run([f'{stack.BIN}/warren', '--data', self.data,
                               *args], check=False, capture_output=True,
                              text=True, **how)

    def warren(self, *args):
        done = self.run_warren(*args)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def file(self, tar, name='x.tar'):
        return tar.write(os.path.join(self.dir, name))

    def refused(self, tar, text):
        """The import says so, and nothing of it is left."""
        done = self.run_warren('image', 'import', 'bad', self.file(tar))
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(text, done.stderr)
        self.assertEqual(os.listdir(self.images), [])

    def root(self, name='img', path=''):
        return os.path.join(self.images, name, 'rootfs', path)

    def test_what_is_in_the_archive_is_in_the_image(self):
        tar = Tar().busybox()
        tar.entry('usr/bin/tool', data=b'tool', mode=0o4751, owner=7)
        tar.hard('usr/bin/same', 'usr/bin/tool')
        tar.link('etc/away', '/outside/of/it')
        tar.entry('home/grüße €', data=b'name', mode=0o600, owner=1000)
        tar.entry('run/pipe', tarfile.FIFOTYPE)
        # The last of a name counts, as where archives are appended to.
        tar.entry('etc/twice', data=b'first').entry('etc/twice', data=b'2nd')
        tar.link('etc/kind', 'twice').entry('etc/kind', data=b'file')
        self.warren('image', 'import', 'img', self.file(tar))
        tool = os.stat(self.root(path='usr/bin/tool'))
        self.assertEqual((stat.S_IMODE(tool.st_mode), tool.st_uid,
                          tool.st_nlink), (0o4751, 7, 2))
        self.assertEqual(os.readlink(self.root(path='etc/away')),
                         '/outside/of/it')
        for path, data in (('home/grüße €', 'name'), ('etc/twice', '2nd'),
                           ('etc/kind', 'file')):
            with open(self.root(path=path), encoding='ascii') as file:
                self.assertEqual(file.read(), data)
        # Setuid programs of strangers are for nobody on the machine.
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(
            self.images, 'img')).st_mode), 0o700)

    def test_each_usual_compression_is_read(self):
        plain = self.file(Tar().busybox())
        for name, command in (('gz', ['gzip']), ('xz', ['xz', '-0']),
                              ('zst', ['zstd', '-q']), ('bz2', ['bzip2'])):
            if not shutil.which(command[0]):
                print(f'skipped: no {command[0]}')
                continue
            with self.subTest(name=name):
                path = f'{plain}.{name}'
                with open(path, 'wb') as out:
                    subprocess.run([*command, '-c', plain], check=True,
                                   stdout=out)
                self.warren('image', 'import', name, path)
                self.assertTrue(os.access(self.root(name, 'bin/busybox'),
                                          os.X_OK))

    def test_an_archive_comes_by_a_pipe(self):
        done = self.run_warren('image', 'import', 'img', '-', stdin=open(
            self.file(Tar().busybox()), 'rb'))
        self.assertEqual(done.returncode, 0, done)
        self.assertTrue(os.path.exists(self.root(path='bin/busybox')))

    def test_names_that_lead_outside_are_refused(self):
        for name, text in (('/etc/evil', 'absolute'),
                           ('../evil', 'outside by ..'),
                           ('bin/../../evil', 'outside by ..'),
                           ('./bin/..', 'outside by ..'),
                           ('..', 'outside by ..')):
            with self.subTest(name=name):
                self.refused(Tar().busybox().entry(name, data=b'x'), text)
                self.refused(Tar().busybox().hard('etc/x', name), text)
        self.assertFalse(os.path.exists(os.path.join(self.dir, 'evil')))

    def test_links_lead_nobody_outside(self):
        away = os.path.join(self.dir, 'away')
        os.mkdir(away)
        for tar in (Tar().busybox().link('way', away).entry(
                        'way/evil', data=b'x'),
                    Tar().busybox().link('etc/up', '../../..').entry(
                        'etc/up/evil', data=b'x'),
                    Tar().busybox().link('a', 'b').link('b', away).dir(
                        'a/sub')):
            self.refused(tar, 'symlink')
        # A hard link to what a link names: the link's, or nothing.
        with open(os.path.join(away, 'secret'), 'w', encoding='ascii') as f:
            f.write('of the host')
        tar = Tar().busybox().link('leak', f'{away}/secret')
        tar.hard('copy', 'leak')
        done = self.run_warren('image', 'import', 'img', self.file(tar))
        if done.returncode == 0:
            self.assertTrue(os.path.islink(self.root(path='copy')))
        self.assertEqual(os.listdir(away), ['secret'])
        self.assertEqual(os.stat(f'{away}/secret').st_nlink, 1)

    def test_our_own_files_are_written_inside_whatever_lies_there(self):
        away = os.path.join(self.dir, 'away')
        os.mkdir(away)
        victim = os.path.join(away, 'resolv.conf')
        with open(victim, 'w', encoding='ascii') as file:
            file.write('of the host')
        tar = Tar().entry('bin/x', data=b'x').link('etc', away)
        tar.link('tmp', away)
        done = self.run_warren('image', 'import', 'img', self.file(tar))
        self.assertEqual(done.returncode, 1, done)
        tar = Tar().busybox().link('etc/resolv.conf', victim)
        tar.link('etc/passwd', victim)
        self.warren('image', 'import', 'img', self.file(tar))
        with open(victim, encoding='ascii') as file:
            self.assertEqual(file.read(), 'of the host')
        self.assertEqual(os.listdir(away), ['resolv.conf'])
        with open(self.root(path='etc/resolv.conf'),
                  encoding='ascii') as file:
            self.assertEqual(file.read(), 'nameserver 169.254.53.53\n')

    def test_devices_are_left_out_of_dev_and_refused_elsewhere(self):
        tar = Tar().busybox().dir('dev')
        tar.entry('dev/sda', tarfile.BLKTYPE, dev=(8, 0))
        tar.entry('./dev/mem', tarfile.CHRTYPE, dev=(1, 1))
        tar.entry('proc/version', data=b'x')
        self.warren('image', 'import', 'img', self.file(tar))
        self.assertEqual(os.listdir(self.root(path='dev')), [])
        self.assertEqual(os.listdir(self.root(path='proc')), [])
        for kind, dev in ((tarfile.BLKTYPE, (8, 0)),
                          (tarfile.CHRTYPE, (0, 0))):
            tar = Tar().busybox().entry('etc/node', kind, dev=dev)
            done = self.run_warren('image', 'import', 'bad', self.file(tar))
            self.assertEqual(done.returncode, 1, done)
            self.assertIn('is a device', done.stderr)

    def test_orders_to_the_file_system_are_left_out(self):
        tar = Tar().busybox().dir('opaque', pax={
            'SCHILY.xattr.trusted.overlay.opaque': 'y',
            'SCHILY.xattr.user.mine': 'y'})
        tar.entry('etc/able', data=b'x', pax={
            'SCHILY.xattr.security.capability': 'x' * 20})
        self.warren('image', 'import', 'img', self.file(tar))
        for path in ('opaque', 'etc/able'):
            self.assertEqual(os.listxattr(self.root(path=path)), [])

    def test_what_is_no_tree_is_told_so(self):
        self.refused(Tar().busybox().entry('etc/.wh.gone'),
                     'one layer of an image')
        self.refused(Tar().entry('manifest.json', data=b'{}'),
                     'no root file system')
        path = os.path.join(self.dir, 'x.tar')
        for data in (b'', b'no archive at all' * 1000,
                     Tar().busybox().bytes()[:300000]):
            with open(path, 'wb') as file:
                file.write(data)
            done = self.run_warren('image', 'import', 'bad', path)
            self.assertEqual(done.returncode, 1, done)
            self.assertEqual(os.listdir(self.images), [])
        done = self.run_warren('image', 'import', 'bad', path + '.none')
        self.assertIn('No such file', done.stderr)

    def test_owners_that_no_sandbox_has_become_nobody(self):
        tar = Tar().busybox().entry('etc/far', data=b'x', owner=1000660000)
        said = self.warren('image', 'import', 'img', self.file(tar))
        self.assertIn('1 files belong to nobody', said)
        self.assertEqual(os.stat(self.root(path='etc/far')).st_uid, 65534)

    def test_names_are_checked_and_taken_once(self):
        path = self.file(Tar().busybox())
        for name in ('', 'a' * 32, 'A', 'a.b', '../x', 'a/b', 'host'):
            done = self.run_warren('image', 'import', '--', name, path)
            self.assertEqual(done.returncode, 1, (name, done))
        self.warren('image', 'import', 'img', path)
        done = self.run_warren('image', 'import', 'img', path)
        self.assertEqual(done.returncode, 1)
        self.assertIn('there is an image img', done.stderr)
        self.assertRegex(self.warren('image', 'list'),
                         r'(?m)^img\timported=20\S+Z\tfiles=\d+\tMiB=\d+\t'
                         r'has=\tsandboxes=0$')
        self.warren('image', 'remove', 'img')
        self.assertEqual(self.warren('image', 'list'), '')
        done = self.run_warren('image', 'remove', 'img')
        self.assertIn('there is no image img', done.stderr)
        done = self.run_warren('image', 'remove', 'host')
        self.assertIn('nginx/serve makes it', done.stderr)

    def test_what_an_interrupted_one_left_is_put_right(self):
        path = self.file(Tar().busybox())
        self.warren('image', 'import', 'img', path)
        for name in ('.a.new', '.b.gone'):
            os.makedirs(os.path.join(self.images, name, 'rootfs',
                                     *'deep' * 50))
        os.rename(os.path.join(self.images, 'img'),
                  os.path.join(self.images, '.img.held'))
        self.warren('image', 'import', 'new', path)
        self.assertEqual(sorted(os.listdir(self.images)), ['img', 'new'])

    def test_a_full_disk_leaves_nothing(self):
        path = self.file(Tar().busybox().entry('usr/big',
                                               data=bytes(4 << 20)))
        done = subprocess.run(
            ['unshare', '-m', '/bin/sh', '-c',
             'mount -t tmpfs -o size=4m none "$1/images" && '
             '{ "$0" --data "$1" image import img "$2"; '
             'echo "$?" $(ls -A "$1/images"); }',
             f'{stack.BIN}/warren', self.data, path],
            check=False, capture_output=True, text=True)
        self.assertEqual(done.stdout, '1\n', done)
        self.assertIn('No space left', done.stderr)

    def test_only_root_may(self):
        path = self.file(Tar().busybox())
        for args in (['import', 'img', path], ['list'], ['remove', 'img']):
            done = self.run_warren('image', *args, user='nobody',
                                   group='nogroup', extra_groups=[])
            self.assertEqual(done.returncode, 1)
            self.assertIn('only root', done.stderr)


class Used(stack.Case):
    """Sandboxes of an imported image, at the broker."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tar = Tar().busybox().entry('etc/suid', data=b'#!/bin/sh\n',
                                    mode=0o4755)
        tar.dir('opt').entry('opt/own', data=b'own')
        path = tar.write(os.path.join(cls.stack.data, 'x.tar'))
        cls.warren('image', 'import', 'small', path)
        cls.small = cls.stack.sandbox(image='small')

    @classmethod
    def warren(cls, *args):
        return subprocess.run([f'{stack.BIN}/warren', '--data',
                               cls.stack.data, *args], check=True,
                              capture_output=True, text=True).stdout

    def small_sh(self, command, **how):
        done = self.small.run(['/bin/sh', '-c', command], **how)
        self.assertEqual(done.code, 0, done)
        return done.stdout

    def test_programs_run_in_it_as_both_users(self):
        self.assertEqual(self.small_sh('id -u; id -un; cat /etc/hostname'),
                         '0\nroot\nsandbox\n')
        self.assertEqual(self.small_sh('id -u; id -un; cd; pwd',
                                       user='sandbox'),
                         '1000\nsandbox\n/home/sandbox\n')

    def test_it_has_its_own_files_and_ours_and_no_more(self):
        self.assertEqual(
            set(self.small_sh('ls /').split()),
            {'bin', 'dev', 'etc', 'home', 'opt', 'proc', 'root', 'run', 'sys',
             'tmp', 'workspace'})
        self.assertEqual(self.small_sh('ls /opt /opt/warren').split(),
                         ['/opt:', 'own', 'warren', '/opt/warren:', 'bin',
                          'kernels', 'lib'])
        self.assertEqual(self.small_sh('cat /proc/self/mountinfo').count(
            self.stack.data), 0)

    def test_what_is_written_stays_its_own(self):
        self.small_sh('echo mine > /etc/mine; echo x > /opt/own; '
                      '! rm -r /opt/warren 2>/dev/null')
        other = self.stack.sandbox(image='small')
        try:
            done = other.run(['/bin/sh', '-c', 'cat /opt/own; ls /opt/warren; '
                              'ls /etc/mine'])
            self.assertEqual(done.stdout, 'ownbin\nkernels\nlib\n')
        finally:
            other.destroy()
        self.assertEqual(self.stack.broker(stack.STOP, self.small.id), 'none')
        type(self).small = stack.Sandbox(self.stack, self.small.id)
        self.assertEqual(self.stack.broker(stack.START, self.small.id,
                                           image='small'), 'none')
        self.assertEqual(self.small_sh('cat /etc/mine'), 'mine\n')

    def test_our_programs_need_nothing_of_it(self):
        done = self.small.run(['/opt/warren/bin/warren-git'])
        # It was given no request.
        self.assertEqual((done.code, done.stderr), (2, ''), done)

    def test_an_image_that_is_not_there_is_not_found(self):
        self.assertEqual(self.stack.broker(stack.START, stack.new_id(),
                                           image='none'), 'not_found')


def busybox_there():
    if not os.path.exists(BUSYBOX):
        print('skipped: no busybox-static')
        sys.exit(77)
    done = subprocess.run(['ldd', BUSYBOX], check=False, capture_output=True,
                          text=True)
    if re.search(r'=>', done.stdout):
        print('skipped: busybox is not static')
        sys.exit(77)


if __name__ == '__main__':
    busybox_there()
    stack.main()
