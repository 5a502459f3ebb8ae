# What serve says while it works. Details go to $log.

log=/dev/null
in_step=

# fail SENTENCE: on the real stderr, also from inside a step.
fail() {
	[[ -z $in_step ]] || printf 'failed\n' >&3
	printf '%s: %s\n' "${0##*/}" "$*" >&3
	exit 1
}

# step WHAT COMMAND...: say what is done and how long it took.
step() {
	local what=$1 began=${EPOCHREALTIME/[.,]/} took size rc=0
	shift
	printf '%s… ' "$what"
	size=$(stat -c %s "$log")
	in_step=1
	"$@" >>"$log" 2>&1 || rc=$?
	in_step=
	took=$((${EPOCHREALTIME/[.,]/} - began))
	if ((rc != 0)); then
		printf 'failed\n'
		tail -c "+$((size + 1))" "$log" | tail -n 20 | sed 's/^/    /' >&3
		fail "$what failed; all of its output is in $log"
	fi
	printf '%d.%d s\n' $((took / 1000000)) $((took / 100000 % 10))
}

# note TEXT: one line with the time, for what happens while it runs.
note() {
	printf '%(%H:%M:%S)T %s\n' -1 "$*"
}
