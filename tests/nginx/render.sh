#!/bin/bash
# render.sh DATA RUN PORT DOMAIN: nginx's configuration as serve renders it.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")/../../nginx
exec 3>&2
data=$1 run=$2 port=$3 domain=$4 bind=
log=/dev/null
. "$here/lib/say.sh"
. "$here/lib/layout.sh"
nginx_render
