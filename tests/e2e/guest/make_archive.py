"""make_archive.py tar|zip ENTRIES: an archive with exactly these entries, as
JSON: {name, data | dir | link | hard | device | pipe}."""
import io
import json
import sys
import tarfile
import zipfile

entries = json.loads(sys.argv[2])
out = io.BytesIO()


def tar_info(entry):
    info = tarfile.TarInfo(entry['name'])
    if 'link' in entry:
        info.type, info.linkname = tarfile.SYMTYPE, entry['link']
    elif 'hard' in entry:
        info.type, info.linkname = tarfile.LNKTYPE, entry['hard']
    elif 'dir' in entry:
        info.type, info.mode = tarfile.DIRTYPE, 0o755
    elif 'device' in entry:
        info.type, info.devmajor, info.devminor = tarfile.CHRTYPE, 1, 5
    elif 'pipe' in entry:
        info.type = tarfile.FIFOTYPE
    return info


if sys.argv[1] == 'tar':
    with tarfile.open(fileobj=out, mode='w') as tar:
        for one in entries:
            data = one.get('data', '').encode()
            about = tar_info(one)
            about.size = len(data)
            tar.addfile(about, io.BytesIO(data))
else:
    with zipfile.ZipFile(out, 'w') as packed:
        for one in entries:
            about = zipfile.ZipInfo(one['name'])
            about.create_system = 3
            about.external_attr = (0o120777 if 'link' in one
                                   else 0o100644) << 16
            packed.writestr(about, one.get('link', one.get('data', '')))
sys.stdout.buffer.write(out.getvalue())
