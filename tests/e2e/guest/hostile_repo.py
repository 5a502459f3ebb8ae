"""hostile_repo.py DIR ENTRIES: a bare repository with one commit, whose tree
has exactly these entries, as JSON: [[mode, name, content]]. The content of a
directory is entries again, of a submodule a commit. No name is refused."""
import hashlib
import json
import os
import subprocess
import sys
import zlib

where, entries = sys.argv[1], json.loads(sys.argv[2])


def put(kind, body):
    raw = f'{kind} {len(body)}\0'.encode() + body
    name = hashlib.sha1(raw).hexdigest()
    folder = f'{where}/objects/{name[:2]}'
    os.makedirs(folder, exist_ok=True)
    with open(f'{folder}/{name[2:]}', 'wb') as file:
        file.write(zlib.compress(raw))
    return name


def tree(rows):
    body = b''
    for mode, name, content in rows:
        if mode == '40000':
            content = tree(content)
        elif mode != '160000':
            content = put('blob', content.encode())
        body += f'{mode} {name}\0'.encode() + bytes.fromhex(content)
    return put('tree', body)


subprocess.run(['git', 'init', '-q', '--bare', '-b', 'main', where], check=True)
commit = put('commit', f'''tree {tree(entries)}
author a <a@b> 1700000000 +0000
committer a <a@b> 1700000000 +0000

c
'''.encode())
with open(f'{where}/refs/heads/main', 'w', encoding='ascii') as ref:
    ref.write(f'{commit}\n')
