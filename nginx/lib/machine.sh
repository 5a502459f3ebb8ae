# What the machine must have: a free port, and the kernel's parts.

# port_owner: "name (pid N)" of the listener on $port; fails if there is none.
port_owner() {
	local hex inode path pid
	printf -v hex '%04X' "$port"
	inode=$(awk -v p=":$hex" '$4 == "0A" && substr($2, length($2) - 4) == p \
		{ print $10; exit }' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
	[[ -n $inode ]] || return 1
	path=$(find /proc/[0-9]*/fd -lname "socket:\[$inode\]" -print -quit \
		2>/dev/null) || true
	pid=${path#/proc/}
	pid=${pid%%/*}
	if [[ -n $pid && -r /proc/$pid/comm ]]; then
		echo "$(<"/proc/$pid/comm") (pid $pid)"
	else
		echo "another program"
	fi
}

check_port() {
	local owner
	if owner=$(port_owner); then
		fail "Port $port is taken by $owner; choose another with --port"
	fi
}

check_overlay() {
	unshare --mount sh -c '
		d=$(mktemp -d) && mount -t tmpfs warren "$d" &&
		mkdir "$d/l" "$d/u" "$d/w" "$d/m" &&
		mount -t overlay -o "lowerdir=$d/l,upperdir=$d/u,workdir=$d/w" \
			warren "$d/m"
		rc=$?
		umount -l "$d"; rmdir "$d"
		exit $rc' 2>/dev/null
}

# cgroup_has CONTROLLER: in the v2 tree, or mounted as v1.
cgroup_has() {
	grep -qsw "$1" /sys/fs/cgroup/cgroup.controllers ||
		awk -v c="$1" '$3 == "cgroup" && index("," $4 ",", "," c ",") \
			{ found = 1 } END { exit !found }' /proc/self/mounts
}

# What only the broker can find out, by trying; its lines are "state, name,
# text, fix" apart by tabs.
probe_machine() {
	local lines state text fix
	lines=$("$data/bin/warrend" --probe --data "$data") ||
		fail "warrend --probe failed; see $log"
	printf '%s\n' "$lines"
	while IFS=$'\t' read -r state _ text fix; do
		[[ $state != missing ]] || fail "$text${fix:+: $fix}"
	done <<<"$lines"
}

# warren.ini: each program says what is wrong with its own sections, as the
# user that it will be, who must be able to read it.
check_conf() {
	local program words text
	[[ -e $data/warren.ini ]] || return 0
	for program in warrend warren-recorder warren-fcgi; do
		words=(runuser -u warren --)
		[[ $program != warrend ]] || words=()
		text=$("${words[@]}" "$data/bin/$program" --check --data "$data" \
			2>&1 >/dev/null) || fail "${text:-$program --check failed}"
	done
}

# What can be seen before anything is installed or built.
# A program that the kernel runs for each crash runs as root outside of all
# sandboxes, whatever limits they have.
check_core_pattern() {
	local pattern
	read -r pattern </proc/sys/kernel/core_pattern || pattern=
	[[ $pattern != [\|@]* || -n $core_handler ]] ||
		fail "kernel.core_pattern starts a program as root for each" \
			"crash, those in sandboxes too ($pattern). Run \"sysctl" \
			"kernel.core_pattern=core\" and put that line into" \
			"/etc/sysctl.d, or give --allow-core-handler"
}

check_machine() {
	local ns major minor rest controller
	IFS=.- read -r major minor rest < <(uname -r)
	((major > 5 || (major == 5 && minor >= 19))) ||
		fail "The kernel is $major.$minor; 5.19 or newer is needed for" \
			"overlays over idmapped mounts"
	for ns in user pid net mnt ipc uts cgroup; do
		[[ -e /proc/self/ns/$ns ]] ||
			fail "The kernel has no $ns namespaces"
	done
	unshare --user --map-root-user true 2>/dev/null ||
		fail "User namespaces cannot be made here" \
			"(see /proc/sys/user/max_user_namespaces)"
	unshare --mount --pid --net --ipc --uts --fork true 2>/dev/null ||
		fail "Namespaces cannot be made here: is this an unprivileged" \
			"container?"
	check_overlay || fail "The kernel cannot mount overlayfs here"
	[[ -e /proc/sys/kernel/seccomp/actions_avail ]] ||
		fail "The kernel has no seccomp filters"
	check_core_pattern
	for controller in memory pids cpu; do
		cgroup_has "$controller" ||
			fail "There is no cgroup controller \"$controller\"," \
				"neither v2 nor v1"
	done
}
