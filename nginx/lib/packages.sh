# Debian packages, Node, and the build.

# packages_of FILE: the names in it.
packages_of() {
	sed 's/#.*//' "$1" | xargs -n 1
}

# packages_missing NAME...: those that are not installed.
packages_missing() {
	dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "$@" 2>/dev/null |
		sed -n 's/^ii *//p' | sort -u |
		comm -13 - <(printf '%s\n' "$@" | sort -u)
}

# Sandboxes see this machine's /usr: a node elsewhere is none for them.
node_ok() {
	local node version
	node=$(PATH=/usr/local/bin:/usr/bin:/bin type -P node) || return 1
	[[ $(readlink -f "$node") == /usr/* ]] || return 1
	version=$("$node" --version 2>/dev/null) || return 1
	version=${version#v}
	[[ ${version%%.*} =~ ^[0-9]+$ ]] && ((${version%%.*} >= 18))
}

# Installing nginx or the like must not start it.
apt_install() {
	local policy=/usr/sbin/policy-rc.d rc=0
	export DEBIAN_FRONTEND=noninteractive
	if [[ ! -e $policy ]]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod +x "$policy"
		trap 'exit 143' TERM
		trap 'rm -f /usr/sbin/policy-rc.d' EXIT
	else
		policy=
	fi
	apt-get install -y --no-install-recommends \
		-o DPkg::Lock::Timeout=120 "$@" || rc=$?
	[[ -z $policy ]] || rm -f "$policy"
	return "$rc"
}

apt_update_install() {
	# Old lists name versions that are gone: one fresh try.
	apt_install "$@" || { apt-get update && apt_install "$@"; }
}

# install_packages FILE...: besides what Warren itself needs.
install_packages() {
	local missing names=() file
	[[ -x /usr/bin/apt-get ]] ||
		fail "This is no Debian: install what nginx/packages.txt lists"
	for file in "$here/packages.txt" "$@"; do
		mapfile -t -O "${#names[@]}" names < <(packages_of "$file")
	done
	mapfile -t missing < <(packages_missing "${names[@]}")
	node_ok || missing+=(nodejs npm)
	type -P npm >/dev/null || [[ " ${missing[*]} " == *" npm "* ]] ||
		missing+=(npm)
	((${#missing[@]} > 0)) || return 0
	step "Installing ${missing[*]}" apt_update_install "${missing[@]}"
	# The package enables a server on port 80, which nobody asked for.
	if [[ " ${missing[*]} " == *" nginx "* && -d /run/systemd/system ]]; then
		systemctl disable --quiet --now nginx >>"$log" 2>&1 || true
	fi
	hash -r
	node_ok || fail "Node 18 or newer is needed below /usr"
}

build() {
	local dir=$repo/build/$build_type
	mkdir -p "$dir"
	(
		flock 8
		[[ -f $dir/build.ninja ]] || (cd "$repo" &&
			cmake --preset "$build_type")
		cmake --build "$dir" --target programs
	) 8>"$dir/serve.lock"
}
