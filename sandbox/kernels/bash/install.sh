#!/bin/sh
# install.sh DEST: build the bash kernel into DEST. It is static, so that it
# runs in any image that has a bash.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../../..
mkdir -p "$1"
cp "$here/driver.bash" "$1/"
"${CC:-cc}" -std=gnu17 -O2 -Wall -Wextra -D_GNU_SOURCE -static -s \
	-I "$top" -o "$1/kernel" "$here"/*.c "$top/base/wire.c" \
	"$top/base/wire_tx.c" "$top/base/buf.c" "$top/base/err.c" \
	"$top/base/clock.c" -ljson-c -lsodium
