"""F15: links in the sandbox, read and listed by the file executor, lead to
the sandbox's own files and never to the host's."""
import os
import tempfile

import stack

SECRET = b'of the host'


def attempt(self):
    with tempfile.TemporaryDirectory(prefix='warren-f15-') as folder:
        secret = os.path.join(folder, 'secret')
        with open(secret, 'wb') as file:
            file.write(SECRET)
        box = self.make_box()
        made = box.sh(
            f'cd /workspace; echo own > /etc/own; ln /etc/own hard; '
            f'ln -s /etc/own soft; ln -s {secret} out; ln -s {folder} dir; '
            f'ln -s ../../../../../..{secret} up; ln -s /proc/1/root root; '
            f'ln -s /proc/self/root{secret} self; ls | wc -l')
        self.assertEqual(made.stdout, '7\n', made)
        for name in ('hard', 'soft'):
            self.assertTrue(read(box, name).endswith(b'own\n'), name)
        for name in ('out', 'up', 'self', 'dir/secret', 'root' + secret):
            self.assertNotIn(SECRET, read(box, name), name)
        for name in ('dir', 'root/', 'root' + folder):
            done = box.run(
                ['list', f'/workspace/{name}', '1', '1', '1000'],
                kind=stack.FS)
            self.assertNotIn(b'secret', done.out, name)


def read(box, name):
    return box.run(['read', f'/workspace/{name}', '0', '0', '0'],
                   kind=stack.FS).out
