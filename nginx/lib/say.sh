# What serve says while it works. Details go to $log.
#
# Whoever reads what it says may be gone (a closed terminal or pipe): that
# ends nothing, so all words go through here and SIGPIPE is ignored.

log=/dev/null
in_step=
trap '' PIPE

# say TEXT...: a line.
say() {
	printf '%s\n' "$*" 2>/dev/null || true
}

# say_on TEXT: the beginning of a line.
say_on() {
	printf %s "$1" 2>/dev/null || true
}

# note TEXT...: one line with the time, for what happens while it runs.
note() {
	printf '%(%H:%M:%S)T %s\n' -1 "$*" 2>/dev/null || true
}

# fail SENTENCE: on the real stderr, also from inside a step.
fail() {
	local failed=
	[[ -z $in_step ]] || failed=$'failed\n'
	{ printf '%s%s: %s\n' "$failed" "${0##*/}" "$*" >&3; } 2>/dev/null ||
		true
	[[ -z $in_step ]] || exit 99
	exit 1
}

# step WHAT COMMAND...: say what is done and how long it took. The command
# runs in a process group of its own, which end_steps can end; it does not
# get the lock on the data directory.
step() {
	local rc=0
	step_began "$1"
	shift
	set -m
	(
		set +m
		trap - PIPE
		in_step=1
		"$@"
	) >>"$log" 2>&1 </dev/null 9>&- &
	set +m
	{ wait "$!" || rc=$?; } 2>/dev/null
	# It was told already.
	((rc != 99)) || exit 1
	step_ended "$rc"
}

step_began() {
	step_what=$1
	step_at=${EPOCHREALTIME/[.,]/}
	step_size=$(stat -c %s "$log")
	say_on "$step_what… "
}

step_ended() {
	local took=$((${EPOCHREALTIME/[.,]/} - step_at))
	if (($1 != 0)); then
		say failed
		{ tail -c "+$((step_size + 1))" "$log" | tail -n 20 |
			sed 's/^/    /' >&3; } 2>/dev/null || true
		fail "$step_what failed; all of its output is in $log"
	fi
	say "$((took / 1000000)).$((took / 100000 % 10)) s"
}

# What a step runs when it is cut short.
end_steps() {
	local pid
	for pid in $(jobs -p); do
		kill -TERM -- "-$pid" 2>/dev/null || continue
		wait_gone 20 "-$pid" || true
		kill -KILL -- "-$pid" 2>/dev/null || true
	done
}
