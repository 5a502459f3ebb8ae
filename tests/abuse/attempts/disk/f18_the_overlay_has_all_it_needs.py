"""F18: the overlay has all it needs."""


def attempt(self):
    box = self.another()
    done = box.sh(r'''
set -e
rm -rf /usr/share/common-licenses /etc/hostname
! ls /usr/share/common-licenses 2>/dev/null
mkdir /usr/share/common-licenses && ls -A /usr/share/common-licenses
mv /workspace /w2 && mv /w2 /workspace
mkdir /workspace/a /workspace/a/b && mv /workspace/a /workspace/c
cp /bin/true /usr/bin/mine && ln /usr/bin/mine /usr/bin/again && mine
echo changed >>/etc/passwd && tail -1 /etc/passwd
mkfifo /workspace/fifo && ln -s fifo /workspace/link
setfattr -n user.x -v 1 /workspace/c 2>/dev/null ||
python3 -c 'import os; os.setxattr("/workspace/c", "user.x", b"1")'
python3 - <<'E'
import os
fd = os.open('/workspace', os.O_TMPFILE | os.O_RDWR, 0o600)
os.write(fd, b'x')
os.link(f'/proc/self/fd/{fd}', '/workspace/tmpfile',
        src_dir_fd=os.open('/', os.O_RDONLY), follow_symlinks=True)
fd = os.open('/workspace/holes', os.O_CREAT | os.O_RDWR)
os.posix_fallocate(fd, 0, 1 << 20)
E
test -s /workspace/tmpfile
chown 1000:1000 /workspace/tmpfile && chmod 4755 /workspace/tmpfile
stat -c '%u %g' /workspace/tmpfile
''')
    self.assertEqual(done.code, 0, done)
    self.assertEqual(done.stdout, 'changed\n1000 1000\n')
