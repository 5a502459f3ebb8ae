"""F14: a program has its three descriptors."""


def attempt(self):
    for user in ('root', 'sandbox'):
        done = self.box.run(['python3', '-c', 'import os; '
                             'print(sorted(os.listdir("/proc/self/fd")))'],
                            user=user)
        self.assertEqual(done.stdout, "['0', '1', '2', '3']\n")
