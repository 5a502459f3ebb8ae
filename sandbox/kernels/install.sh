#!/bin/sh
# install.sh DEST: put the kernels into DEST (an image's /opt/warren/kernels).
#
# Copies what has changed, compiles the Python files, makes matplotlib's list
# of fonts, installs the node packages of package-lock.json and builds the
# addons for Node. Run it again at any time: with nothing changed it
# only compares one checksum.
set -eu

[ $# -eq 1 ] || { echo "usage: install.sh DEST" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dest=$(cd "$1" && pwd)
python=${WARREN_PYTHON:-/usr/bin/python3}

# What the result depends on: our files and the programs' versions.
state()
{
	find "$here" -type f ! -path '*/node_modules/*' ! -name '*.pyc' \
		! -name '*.md' -exec sha256sum {} + | sort
	sha256sum "$here/../enter_node.c" "$here/../enter.h" \
		"$here"/../../base/wire*.c "$here/../../base/buf.c"
	"$python" -c 'import sys; print(sys.version)'
	uname -m
}

sum=$(state | sha256sum)
if [ "$(cat "$dest/.state" 2>/dev/null)" = "$sum" ]; then
	exit 0
fi
rm -f "$dest/.state"

rm -rf "$dest/python"
mkdir -p "$dest/python" "$dest/node"
cp "$here/python/kernel.py" "$here/python/zygote.py" "$dest/python/"
mkdir "$dest/python/warren_kernel"
cp "$here"/python/warren_kernel/*.py "$dest/python/warren_kernel/"
# The image is read-only later: compiled files never need a check.
"$python" -m compileall -q --invalidation-mode unchecked-hash \
	"$dest/python/warren_kernel"

# matplotlib needs seconds for this list: each sandbox gets a copy of it.
mkdir "$dest/python/cache"
MPLCONFIGDIR="$dest/python/cache" "$python" -c '
import matplotlib.font_manager' 2>/dev/null ||
	echo "install.sh: no matplotlib, so no list of fonts" >&2

find "$dest/node" -maxdepth 1 -type f -delete
cp "$here"/node/*.cjs "$here"/node/package.json \
	"$here"/node/package-lock.json "$dest/node/"
packages=$(sha256sum < "$here/node/package-lock.json")
if [ "$(cat "$dest/node/node_modules/.state" 2>/dev/null)" != "$packages" ]
then
	(cd "$dest/node" && npm ci --ignore-scripts --omit=dev --no-audit \
		--no-fund --loglevel=error)
	echo "$packages" > "$dest/node/node_modules/.state"
fi
case $(uname -m) in
x86_64) arch=x64 ;;
aarch64) arch=arm64 ;;
*) echo "install.sh: no esbuild for $(uname -m)" >&2; exit 1 ;;
esac
"$dest/node/node_modules/@esbuild/linux-$arch/bin/esbuild" --version \
	> /dev/null
# The rest of it is libwarren-enter.so, which is found when it runs.
addon()
{
	"${CC:-cc}" -O2 -Wall -Wextra -D_GNU_SOURCE -fPIC -shared \
		-Wl,-z,relro,-z,now -I "$here/../.." \
		-I "$dest/node/node_modules/node-api-headers/include" \
		-o "$dest/node/warren_$1.node" "$2"
}
addon enter "$here/../enter_node.c"
addon stop "$here/node/stop.c"

# A language that needs more than this script has one of its own.
for each in "$here"/*/install.sh; do
	"$each" "$dest/$(basename "$(dirname "$each")")"
done
chmod -R a+rX "$dest"
echo "$sum" > "$dest/.state"
