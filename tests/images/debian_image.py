"""A Debian with apt, as debootstrap makes it, but of what this machine has: so
no mirror is asked. Packages that are essential, apt, and what they need."""
import glob
import os
import re
import shutil
import subprocess

DPKG = '/var/lib/dpkg'
ROOTS = ('apt', 'adduser', 'debconf', 'mawk', 'passwd')
LEFT_OUT = ('/usr/share/doc/', '/usr/share/man/', '/usr/share/locale/',
            '/usr/share/info/', '/usr/share/i18n/', '/usr/share/lintian/',
            '/usr/share/zoneinfo/', '/usr/lib/x86_64-linux-gnu/gconv/')
MERGED = ('bin', 'sbin', 'lib', 'lib64')
ETC = {
    'debconf.conf': '/usr/share/debconf/debconf.conf',
    'passwd': '/usr/share/base-passwd/passwd.master',
    'group': '/usr/share/base-passwd/group.master',
}


def packages():
    """{name: (stanza, fields)} of what is installed."""
    with open(f'{DPKG}/status', encoding='utf-8') as file:
        stanzas = file.read().split('\n\n')
    found = {}
    for stanza in stanzas:
        fields = dict(re.findall(r'^([\w-]+): (.*)$', stanza, re.M))
        if fields.get('Status', '').endswith('ok installed'):
            found.setdefault(fields['Package'], (stanza, fields))
    return found


def closure(all_):
    """Names of packages that are needed, with what they need."""
    provided = {}
    for name, (_, fields) in all_.items():
        for word in re.split(r', ', fields.get('Provides', '')):
            provided.setdefault(word.split(' ')[0], name)
    todo = [name for name, (_, fields) in all_.items()
            if fields.get('Essential') == 'yes'] + list(ROOTS)
    chosen = set()
    while todo:
        name = todo.pop()
        if name in chosen or name not in all_:
            continue
        chosen.add(name)
        fields = all_[name][1]
        for group in re.split(r', ', ', '.join(
                filter(None, (fields.get('Depends'),
                              fields.get('Pre-Depends'))))):
            for word in group.split('|'):
                need = re.split(r'[ :(]', word.strip())[0]
                need = need if need in all_ else provided.get(need)
                if need:
                    todo.append(need)
                    break
    return sorted(chosen)


def info_files(name, fields):
    for stem in (name, f'{name}:{fields["Architecture"]}'):
        if os.path.exists(f'{DPKG}/info/{stem}.list'):
            return stem
    raise AssertionError(f'no list of files of {name}')


def real(path):
    """Where it is on a machine with merged /usr."""
    return os.path.join(os.path.realpath(os.path.dirname(path)),
                        os.path.basename(path))


def compose(dir_):
    """The tar file, below an existing directory."""
    root = os.path.join(dir_, 'root')
    info = f'{root}/var/lib/dpkg/info'
    for path in ('etc/apt/apt.conf.d', 'etc/apt/preferences.d', 'etc/dpkg/dpkg.cfg.d', 'dev',
                 'etc/alternatives', 'var/lib/dpkg/info',
                 'var/lib/dpkg/alternatives', 'var/lib/dpkg/updates',
                 'var/lib/dpkg/triggers', 'var/cache/debconf', 'var/log',
                 'var/lib/apt/lists/partial', 'root'):
        os.makedirs(f'{root}/{path}')
    all_ = packages()
    names = closure(all_)
    listed = set()
    for name in names:
        stem = info_files(name, all_[name][1])
        with open(f'{DPKG}/info/{stem}.list', encoding='utf-8') as file:
            listed.update(file.read().split('\n'))
        for entry in os.listdir(f'{DPKG}/info'):
            if entry.startswith(stem + '.'):
                shutil.copy(f'{DPKG}/info/{entry}', info)
    with open(f'{root}/var/lib/dpkg/status', 'w', encoding='utf-8') as file:
        for name in names:
            file.write(all_[name][0].strip('\n') + '\n\n')
    for name, path in ETC.items():
        shutil.copy(path, f'{root}/etc/{name}')
    with open(f'{root}/etc/passwd', 'a', encoding='ascii') as file:
        file.write('_apt:*:42:65534::/nonexistent:/usr/sbin/nologin\n')
    shutil.copytree(f'{DPKG}/alternatives',
                    f'{root}/var/lib/dpkg/alternatives', dirs_exist_ok=True)
    shutil.copytree('/etc/alternatives', f'{root}/etc/alternatives',
                    symlinks=True, dirs_exist_ok=True)
    # Made by a package when it is installed, as those above.
    for path in glob.glob('/etc/pam.d/common-*'):
        os.makedirs(f'{root}/etc/pam.d', exist_ok=True)
        shutil.copy(path, f'{root}/etc/pam.d')
    for name in MERGED:
        if os.path.islink(f'/{name}'):
            os.symlink(f'usr/{name}', f'{root}/{name}')
    paths = {real(path) for path in listed | {'/bin/sh', '/usr/bin/awk'}
             if path.startswith(('/usr/', '/bin/', '/sbin/', '/lib'))
             and not path.startswith(LEFT_OUT)}
    paths = sorted(path.lstrip('/') for path in paths
                   if os.path.lexists(path) and
                   (os.path.islink(path) or not os.path.isdir(path)))
    # Settings of the packages, as the image host has them.
    conf = sorted(path.lstrip('/') for path in listed
                  if path.startswith('/etc/') and os.path.isfile(path) and
                  not path.startswith('/etc/apt/') and
                  os.stat(path).st_mode & 0o004)
    tar = os.path.join(dir_, 'debian.tar')
    subprocess.run(['tar', '-C', root, '--owner=0', '--group=0', '-cf', tar,
                    '.'], check=True)
    subprocess.run(['tar', '-C', '/', '--no-recursion', '-T', '-', '-rf',
                    tar], check=True, input='\n'.join(paths + conf),
                   text=True)
    return tar
