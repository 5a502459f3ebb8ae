# What the image "host" knows of this machine's packages, so that apt-get works
# in it: their names and the lists of their files below /usr, which sandboxes
# see anyway, and such settings as are word for word those of the packages.
# $root is set by image_host, which includes this.

# The users and groups that Debian's packages expect; nobody has a password.
write_users() {
	local etc=$root/etc name
	for name in passwd group; do
		cat "/usr/share/base-passwd/$name.master" >"$etc/$name" ||
			fail "The package base-passwd is not installed"
	done
	cat >>"$etc/passwd" <<-'END'
	_apt:*:42:65534::/nonexistent:/usr/sbin/nologin
	sandbox:*:1000:1000:sandbox:/home/sandbox:/bin/bash
	END
	echo 'sandbox:*:1000:' >>"$etc/group"
	sed 's/^\([^:]*\):.*/\1:*:19000:0:99999:7:::/' "$etc/passwd" \
		>"$etc/shadow"
	sed 's/^\([^:]*\):.*/\1:*::/' "$etc/group" >"$etc/gshadow"
	sed -i 's/^\([^:]*\):\*:/\1:x:/' "$etc/passwd" "$etc/group"
	chmod 0640 "$etc/shadow" "$etc/gshadow"
}

# Debian's defaults, which its package makes when it is installed: su, chfn and
# with them adduser need these. A machine's own may know of other services.
write_pam() {
	local pam=$root/etc/pam.d kind
	[[ -d /usr/share/pam ]] || return 0
	mkdir -p "$pam"
	for kind in account auth password session; do
		cat >"$pam/common-$kind" <<-END
		$kind [success=1 default=ignore] pam_unix.so
		$kind requisite pam_deny.so
		$kind required pam_permit.so
		END
	done
	cp "$pam/common-session" "$pam/common-session-noninteractive"
}

# Packages that are installed whole; what waits for a trigger here would stop
# apt in each sandbox.
installed_packages() {
	awk -v RS= -v ORS='\n\n' '
	/(^|\n)Status: [a-z]+ ok (installed|triggers-)/ {
		sub(/ok triggers-[a-z]+/, "ok installed")
		gsub(/\nTriggers-(Pending|Awaited):[^\n]*/, "")
		print
	}' /var/lib/dpkg/status
}

# Those that name a user of this machine only would stop dpkg.
known_overrides() {
	local user group rest
	while read -r user group rest; do
		! grep -q "^$user:" "$root/etc/passwd" ||
			! grep -q "^$group:" "$root/etc/group" ||
			echo "$user $group $rest"
	done </var/lib/dpkg/statoverride
}

# copy_conffiles STATUS: settings that are as their package has them, byte for
# byte, so they say nothing of this machine. apt's are write_apt's.
copy_conffiles() {
	local path
	awk '/^Conffiles:/ { on = 1; next } !/^ / { on = 0 }
		on && NF == 2 { print $2 "  " $1 }' "$1" |
		(md5sum --check 2>/dev/null || true) |
		sed -n 's/^\(\/etc\/.*\): OK$/\1/p' |
		grep -v '^/etc/apt/' | while IFS= read -r path; do
		[[ ! -e $root$path && $(readlink -f "$path") == "$path" ]] ||
			continue
		mkdir -p "$(dirname "$root$path")"
		cp -a --no-preserve=ownership,xattr "$path" "$root$path"
	done
}

# Directories of packages outside of /usr, empty.
make_dirs() {
	local path
	cat "$root"/var/lib/dpkg/info/*.list |
		grep -E '^/(etc|var)/' | sort -u |
		while IFS= read -r path; do
		[[ ! -d $path || -L $path || -L $root$path ||
			-e $root$path ]] || printf '%s\0' "$root$path"
	done | xargs -0 --no-run-if-empty mkdir -p
}

# Before it is made sure that anybody may read what is in the image's /etc.
copy_packages() {
	local to=$root/var/lib/dpkg
	mkdir -p "$to"/{info,updates,triggers,alternatives}
	[[ -r /var/lib/dpkg/status ]] || return 0
	(cd /var/lib/dpkg && find info triggers alternatives diversions \
		-type f -perm -004 ! -name Lock -print0 |
		xargs -0 cp -a --parents --no-preserve=ownership,xattr -t "$to")
	installed_packages >"$to/status"
	copy_conffiles "$to/status"
	make_dirs
}

# Packages ask nobody, but where a program sets DEBIAN_FRONTEND.
write_debconf() {
	local from=/usr/share/debconf/debconf.conf
	[[ -e $from ]] || return 0
	install -m 0644 -t "$root/etc" "$from"
	sed "s#/var/cache#$root/var/cache#" "$from" >"$new/debconf.conf"
	echo 'debconf debconf/frontend select Noninteractive' |
		DEBCONF_SYSTEMRC=$new/debconf.conf debconf-set-selections
	rm "$new/debconf.conf"
}

write_apt() {
	local apt=$root/etc/apt dist=bookworm
	mkdir -p "$apt"/{apt.conf.d,preferences.d,sources.list.d} \
		"$root"/etc/{dpkg/dpkg.cfg.d,skel} \
		"$root"/var/lib/apt/lists/partial "$root"/var/log/apt \
		"$root"/var/cache/{apt/archives/partial,debconf}
	touch "$root/var/lib/dpkg/status"
	[[ ! -e /var/lib/dpkg/statoverride ]] ||
		known_overrides >"$root/var/lib/dpkg/statoverride"
	dist=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
	cat >"$apt/sources.list" <<-EOF
	deb http://deb.debian.org/debian $dist main
	deb http://deb.debian.org/debian $dist-updates main
	deb http://deb.debian.org/debian-security $dist-security main
	EOF
	[[ ! -d /etc/apt/trusted.gpg.d ]] || find /etc/apt/trusted.gpg.d \
		-name 'debian-archive-*' -exec install -D -m 0644 -t \
		"$apt/trusted.gpg.d" {} +
	# Nobody is there to answer; there is no terminal for dpkg; and lists
	# of packages in each language are for people.
	cat >"$apt/apt.conf.d/70sandbox" <<-'EOF'
	Dpkg::Use-Pty "0";
	Acquire::Languages "none";
	EOF
	# A crash of the machine loses a sandbox's last seconds anyway.
	printf '%s\n' force-confdef force-confold force-unsafe-io \
		>"$root/etc/dpkg/dpkg.cfg.d/sandbox"
	write_debconf
	write_pam
	[[ ! -e $root/etc/dpkg/origins/debian ]] ||
		ln -sf debian "$root/etc/dpkg/origins/default"
	# Daemons start when they are told to, not when they are installed.
	mkdir -p "$new/host-usr/sbin"
	printf '#!/bin/sh\nexit 101\n' >"$new/host-usr/sbin/policy-rc.d"
	chmod 0755 "$new/host-usr/sbin/policy-rc.d"
}
