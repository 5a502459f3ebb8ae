"""K8: ptrace, process_vm_*, kcmp, pidfd_getfd and process_madvise are
refused, also for one's own processes."""


def attempt(self):
    self.refuses(
        ('ptrace', 101, '0, 0, 0, 0'),
        ('attach', 101, '16, 1, 0, 0'),
        ('readv', 310, 'os.getpid(), page, 1, page, 1, 0'),
        ('writev', 311, 'os.getpid(), page, 1, page, 1, 0'),
        ('kcmp', 312, '1, 1, 0, 0, 0'),
        ('pidfd_getfd', 438, '0, 0, 0'),
        ('process_madvise', 440, '0, page, 1, 0, 0'))
