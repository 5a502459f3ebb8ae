"""Archives of small root file systems, made of this machine's own programs."""
import io
import os
import re
import subprocess
import tarfile

BUSYBOX = '/bin/busybox'


class Tar:
    """A tar file in memory, entry by entry: also such as no tar makes."""

    def __init__(self):
        self.data = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.data, mode='w',
                                format=tarfile.PAX_FORMAT)

    def entry(self, name, kind=tarfile.REGTYPE, *, data=b'', mode=0o755,
              link='', owner=0, dev=(0, 0), pax=None):
        info = tarfile.TarInfo(name)
        info.type, info.mode, info.linkname = kind, mode, link
        info.uid = info.gid = owner
        info.devmajor, info.devminor = dev
        info.size = len(data)
        info.pax_headers = pax or {}
        self.tar.addfile(info, io.BytesIO(data))
        return self

    def dir(self, name, **how):
        return self.entry(name, tarfile.DIRTYPE, **how)

    def link(self, name, to):
        return self.entry(name, tarfile.SYMTYPE, link=to)

    def hard(self, name, to):
        return self.entry(name, tarfile.LNKTYPE, link=to)

    def copy(self, path, name=None):
        """A file of this machine, as what it is in the end."""
        with open(path, 'rb') as file:
            return self.entry(name or path.lstrip('/'), data=file.read(),
                              mode=os.stat(path).st_mode & 0o755)

    def program(self, path, name=None):
        """A program with the libraries that it names."""
        done = subprocess.run(['ldd', path], check=False,
                              capture_output=True, text=True)
        for found in re.findall(r'(?:=> |^\s)(/\S+) \(', done.stdout, re.M):
            self.library(found)
        return self.copy(path, name)

    def library(self, path):
        if path in self.seen:
            return
        self.seen.add(path)
        self.copy(path)

    seen = frozenset()

    def busybox(self, *names):
        self.seen = set(self.seen)
        for name in ('bin', 'etc'):
            self.dir(name)
        self.copy(BUSYBOX, 'bin/busybox')
        for name in ('sh', 'cat', 'echo', 'id', 'ls', 'stat', 'mkdir', 'rm',
                     'pwd', 'wc', *names):
            self.link(f'bin/{name}', 'busybox')
        return self

    def bytes(self):
        self.tar.close()
        return self.data.getvalue()

    def write(self, path):
        with open(path, 'wb') as file:
            file.write(self.bytes())
        return path


def main():
    """small_image.py FILE [PROGRAM[:NAME]...]: busybox, and such programs."""
    import sys
    tar = Tar().busybox()
    for word in sys.argv[2:]:
        path, _, name = word.partition(':')
        tar.program(path, name)
    tar.write(sys.argv[1])


if __name__ == '__main__':
    main()
