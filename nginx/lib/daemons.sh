# Starting, watching and stopping warrend and nginx.
#
# This shell holds a lock on D/serve.lock (descriptor 9) as long as it lives;
# its children do not get it, so a lock that is free means: nobody watches.
# Which processes they are is noted in R (serve.pid, warrend.pid, nginx.pid),
# since R is there as long as they run; D may be removed under them.

stopping=
broker=
nginx=
old_nginx=()

lock_data() {
	local pid
	exec 9>>"$data/serve.lock"
	# The second: D was removed while it ran.
	if ! flock -n 9; then
		pid=$(cat "$data/serve.pid" 2>/dev/null || echo unknown)
	else
		pid=$(pid_of serve)
		runs_here "$pid" 'serve ' || pid=
	fi
	[[ -z $pid ]] || fail "Warren already runs on $data (pid $pid);" \
		"stop it with: sudo nginx/serve --stop --data $data"
	echo $$ >"$data/serve.pid"
}

# pid_of NAME: as it is noted in R; empty when it is not.
pid_of() {
	cat "$run/$1.pid" 2>/dev/null || true
}

# wait_gone SECONDS PID: true when it (with -PID: its group) is gone.
wait_gone() {
	local i
	for ((i = 0; i < $1 * 20; i++)); do
		kill -0 -- "$2" 2>/dev/null || return 0
		sleep 0.05
	done
	return 1
}

# end_group PID SECONDS: TERM to it, later KILL to all of its group.
end_group() {
	kill -TERM "$1" 2>/dev/null || true
	wait_gone "$2" "$1" || note "pid $1 did not end in $2 s: killing it"
	kill -KILL -- "-$1" 2>/dev/null || true
}

# R, and what a broker that did not end by itself left mounted there.
remove_run() {
	local point
	awk -v at="$run/" 'index($5, at) == 1 { print $5 }' \
		/proc/self/mountinfo | tac | while IFS= read -r point; do
		umount -l "$point" 2>/dev/null || true
	done
	rm -rf --one-file-system "$run"
}

# runs_here PID TEXT: that process is ours: its command line has TEXT (a space
# is after each word).
runs_here() {
	local words
	[[ -n $1 && -r /proc/$1/cmdline ]] || return 1
	mapfile -d '' -t words <"/proc/$1/cmdline"
	[[ "${words[*]} " == *"$2"* ]]
}

# end_programs SIGNAL NAME...: signal all that run these programs of D/bin.
end_programs() {
	local signal=$1 name pid
	shift
	for name in "$@"; do
		find /proc/[0-9]*/exe -lname "$data/bin/$name*" 2>/dev/null |
			while IFS=/ read -r _ _ pid _; do
				kill "-$signal" "$pid" 2>/dev/null || true
			done
	done || true
}

# What a serve left running that was killed itself; true if there was any.
end_leftovers() {
	local pid found=1 broker nginx
	broker=$(pid_of warrend)
	nginx=$(pid_of nginx)
	if runs_here "$broker" "$data/bin/warrend"; then
		say "Stopping warrend (pid $broker), left over from a run before"
		end_group "$broker" 20
		remove_run
		found=0
	fi
	end_programs TERM warren-fcgi warren-terminal warren-recorder
	pid=$nginx
	if runs_here "$pid" "$data/nginx/nginx.conf"; then
		say "Stopping nginx (pid $pid), left over from a run before"
		end_group "$pid" 5
		found=0
	elif [[ -n $pid ]]; then
		# Workers whose master is gone are still in its group.
		kill_group_of nginx TERM "$pid"
	fi
	rm -f "$run"/{serve,warrend,nginx}.pid "$data/nginx/nginx.pid"
	return "$found"
}

# has_programs NAME: some run this program of D/bin.
has_programs() {
	[[ -n $(find /proc/[0-9]*/exe -lname "$data/bin/$1*" -print -quit \
		2>/dev/null) ]]
}

# Sandboxes outlive a broker that was killed: the next one takes them up, and
# ends them when it ends.
end_sandboxes() {
	local before i
	has_programs warren-keeper && [[ -x $data/bin/warrend ]] || return 1
	say "Stopping sandboxes, left over from a run before"
	before=$(stat -c %s "$data/warrend.log")
	start_broker
	for ((i = 0; i < 200; i++)); do
		! tail -c "+$((before + 1))" "$data/warrend.log" |
			grep 'warrend ready' >/dev/null || break
		kill -0 "$broker" 2>/dev/null || return 1
		sleep 0.05
	done
	end_group "$broker" 25
	remove_run
}

# kill_group_of NAME SIGNAL GROUP: if a process of that name is in the group.
kill_group_of() {
	awk -v g="$3" -v n="($1)" '$2 == n && $5 == g { found = 1 }
		END { exit !found }' /proc/[0-9]*/stat 2>/dev/null || return 0
	kill "-$2" -- "-$3" 2>/dev/null || true
}

# run_daemon COMMAND...: in a session of its own, with a clean environment
# and no signal ignored that this shell ignores.
run_daemon() {
	cd / && exec setsid env -i --default-signal LANG=C.UTF-8 TZ=UTC \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		"$@" 3>&- 9>&- </dev/null
}

start_broker() {
	(run_daemon "$data/bin/warrend" --data "$data" --run "$run" \
		--domain "$domain" --port "$port" \
		${disk_overcommit:+--disk-overcommit "$disk_overcommit"} \
		${core_handler:+"$core_handler"}) >>"$data/warrend.log" 2>&1 &
	broker=$!
	echo "$broker" >"$run/warrend.pid"
}

start_nginx() {
	(run_daemon nginx -e "$data/nginx/error.log" -p "$data/nginx" \
		-c "$data/nginx/nginx.conf") >>"$data/serve.log" 2>&1 &
	nginx=$!
	echo "$nginx" >"$run/nginx.pid"
}

# again NAME PID: start what died; slower when it dies at once each time.
again() {
	local now=$EPOCHSECONDS
	((now - ${last_again:-0} > 5)) && quick=0 || quick=$((quick + 1))
	last_again=$now
	((quick < 3)) || sleep 2
	[[ -z $stopping ]] || return 0
	note "$1 (pid $2) ended unexpectedly: starting it again"
	if [[ $1 == warrend ]]; then
		start_broker
	else
		# Orphaned workers hold the port: let them finish their streams.
		kill -QUIT -- "-$2" 2>/dev/null || true
		old_nginx+=("$2")
		sleep 0.2
		start_nginx
	fi
}

# All that runs; words come after deeds, since nobody may read them.
stop_all() {
	local pid
	[[ -z $nginx ]] || kill -TERM "$nginx" 2>/dev/null || true
	[[ -z $broker ]] || kill -TERM "$broker" 2>/dev/null || true
	say_on $'\nStopping… ' 9>&- &
	[[ -z $nginx ]] || end_group "$nginx" 5
	for pid in "${old_nginx[@]}"; do
		kill_group_of nginx KILL "$pid"
	done
	[[ -z $broker ]] || end_group "$broker" 25
	# Workers of a broker that died may still be finishing streams.
	end_programs KILL warren-fcgi warren-terminal warren-recorder \
		warren-keeper
	rm -f "$data/serve.pid"
	# Nothing lives that could be found by it any more.
	remove_run
	exec 9>&-
	say stopped
}

# However this shell ends.
on_exit() {
	trap '' INT TERM HUP
	if [[ -n $broker || -n $nginx ]]; then
		stop_all
	else
		end_steps
		rm -f "$data/serve.pid"
		[[ -z $stopping ]] || say $'\nStopped'
	fi
}

healthy() {
	local to=${bind:-127.0.0.1}
	[[ $to == *:* ]] && to="[$to]"
	[[ $to != 0.0.0.0 ]] || to=127.0.0.1
	curl -sf -o /dev/null --noproxy '*' --max-time 2 -H "Host: $domain" \
		"http://$to:$port/v1/health"
}

start_all() {
	local end before
	rotate_log
	before=$(stat -c %s "$data/warrend.log")
	ulimit -n 65536 2>/dev/null || true
	install -d -m 0755 "$run"
	echo $$ >"$run/serve.pid"
	start_broker
	start_nginx
	end=$((SECONDS + 30))
	while ((SECONDS < end)); do
		[[ -z $stopping ]] || return 1
		kill -0 "$broker" 2>/dev/null || {
			tail -c "+$((before + 1))" "$data/warrend.log"
			return 1
		}
		kill -0 "$nginx" 2>/dev/null || {
			tail -n 5 "$data/nginx/error.log"
			return 1
		}
		! healthy || return 0
		sleep 0.1
	done
	echo "GET /v1/health was not answered in time"
	tail -c "+$((before + 1))" "$data/warrend.log"
	return 1
}

rotate_log() {
	local file
	for file in warrend.log serve.log nginx/access.log nginx/preview.log \
		nginx/error.log; do
		[[ ! -f $data/$file || $(stat -c %s "$data/$file") -lt 67108864 ]] ||
			mv "$data/$file" "$data/$file.1"
	done
	(umask 027 && : >>"$data/warrend.log")
}

# The first tenant and its key. The key is stored as a hash; D/default.key,
# for root only, is there so that it can be looked up on one's own machine.
first_key() {
	local file=$data/default.key key
	if [[ ! -f $file ]]; then
		warren tenant list | grep -w default >/dev/null ||
			warren tenant add default >>"$log"
		key=$(warren key add default | grep -o 'wrn_[A-Za-z0-9_-]*') ||
			fail "No API key could be made for tenant default"
		(umask 077 && printf '%s\n' "$key" >"$file.new")
		mv "$file.new" "$file"
		say "API key: $key"
	else
		key=$(<"$file")
		say "Key of tenant default: ${key:0:12}… (whole in $file)"
		key="\$(sudo cat $file)"
	fi
	cat 2>/dev/null <<-EOF || true

	Try it:
	  curl -H "Authorization: Bearer $key" \\
	    -H 'Content-Type: application/json' -d '{"command": "echo hello"}' \\
	    $url/v1/sandboxes/first/api/execute

	EOF
}

supervise() {
	local ended quick=0 last_again=0 rc=0
	echo $$ >"$data/serve.pid"
	trap 'stopping=1' INT TERM HUP
	trap on_exit EXIT
	step_began Starting
	start_all >>"$log" 2>&1 || rc=$?
	[[ -z $stopping ]] || exit 130
	step_ended "$rc"
	say "Warren is up: $url"
	first_key
	if [[ $mode == supervise ]]; then
		say "It runs in the background; sudo nginx/serve --stop --data" \
			"$data ends it"
		say_on "$up_sign"
		exec >>"$log" 2>&1 3>&1
	else
		say "Ctrl-C stops it."
	fi
	while [[ -z $stopping ]]; do
		ended=
		# The shell's own words about a killed child are dropped.
		{ wait -n -p ended "$broker" "$nginx" || true; } 2>/dev/null
		[[ -z $stopping ]] || break
		case ${ended-} in
		"$broker") again warrend "$ended" ;;
		"$nginx") again nginx "$ended" ;;
		esac
	done
	exit 0
}

# The other half of --detach: serve --supervise in a session of its own,
# whose words are shown until it is up. Until then a stop of this half is a
# stop of that one.
up_sign=$'\4'
detach() {
	local c lines up='' supervisor=
	trap - EXIT
	trap 'stopping=1; end_supervisor' INT TERM HUP
	exec {lines}< <(exec setsid "$here/serve" --supervise --data "$data" \
		--port "$port" --domain "$domain" --bind "$bind" \
		--build-type "$build_type" \
		${disk_overcommit:+--disk-overcommit "$disk_overcommit"} \
		${core_handler:+"$core_handler"} \
		2>&1 </dev/null)
	supervisor=$!
	[[ -z $stopping ]] || end_supervisor
	while IFS= read -r -d '' -n 1 c <&"$lines"; do
		[[ $c != "$up_sign" ]] || {
			up=1
			break
		}
		say_on "$c"
	done
	if [[ -n $stopping ]]; then
		wait_gone 45 "$supervisor" || true
		exit 130
	fi
	[[ -n $up ]] || exit 1
}

end_supervisor() {
	[[ -z $supervisor ]] || kill -TERM "$supervisor" 2>/dev/null || true
}

# Waits until the one that watches is gone, which ends all it started.
end_watcher() {
	local pid=$1
	kill -TERM "$pid" 2>/dev/null || true
	wait_gone 45 "$pid" || fail "Warren (pid $pid) did not stop within 45 s"
	say "Warren on $data is stopped"
}

stop_running() {
	local pid ended= tries=50
	if [[ -e $data/serve.lock ]]; then
		exec 9>>"$data/serve.lock"
		# Held, and by nobody who watches: one that starts, or what a
		# killed one was just running. Both last a moment.
		until flock -n 9; do
			pid=$(cat "$data/serve.pid" 2>/dev/null) || true
			if runs_here "$pid" 'serve '; then
				end_watcher "$pid"
				return
			fi
			((tries--)) ||
				fail "It is starting; try again in a moment"
			sleep 0.2
		done
	fi
	# Nobody watches, or D was removed while it ran.
	pid=$(pid_of serve)
	if runs_here "$pid" 'serve '; then
		end_watcher "$pid"
		return
	fi
	! end_leftovers || ended=1
	! end_sandboxes || ended=1
	if [[ -n $ended ]]; then
		say "Warren on $data is stopped"
	elif [[ -d $data ]]; then
		say "Warren does not run on $data"
	else
		fail "There is no $data, and nothing runs on it"
	fi
}
