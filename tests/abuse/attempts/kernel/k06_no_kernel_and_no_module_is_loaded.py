"""K6: neither a kernel nor a module of one is loaded or removed."""


def attempt(self):
    self.refuses(
        ('kexec_load', 246, '0, 0, 0, -1'),
        ('kexec_file_load', 320, '-1, -1, 0, 0, 0'),
        ('init_module', 175, 'page, 4096, b""'),
        ('finit_module', 313, '-1, b"", 0'),
        ('delete_module', 176, 'b"none", 0'))
