"""F1: nothing of the host is read."""


def attempt(self):
    self.both(r'''
for path in ('/etc/shadow-', '/etc/ssh/ssh_host_rsa_key', '/root/.ssh',
             '/etc/ssh/ssh_host_ed25519_key', '/etc/ssl/private/x',
             '/var/lib/warren', '/run/warren', '/boot', '/lib/modules/x'):
    refused(path, opens(path), 'ENOENT', 'EACCES')
for dir_, dirs, files in os.walk('/var/log'):
    if files:
        print(dir_, files)
for path in ('/etc/shadow', '/etc/gshadow'):
    try:
        with open(path) as file:
            print(''.join(line for line in file
                          if line.split(':')[1] != '*'), end='')
    except PermissionError:
        pass
for path in ('/home', '/root', '/srv', '/run'):
    try:
        got = set(os.listdir(path)) - {'sandbox'}
    except PermissionError:
        continue
    if got:
        print(path, got)
''')
