# Starting, watching and stopping warrend and nginx.
#
# This shell holds a lock on D/serve.lock (descriptor 9) as long as it lives;
# its children do not get it, so a lock that is free means: nobody watches.

stopping=
broker=
nginx=
old_nginx=()

lock_data() {
	exec 9>>"$data/serve.lock"
	flock -n 9 || fail "Warren already runs on $data (pid" \
		"$(cat "$data/serve.pid" 2>/dev/null)); stop it with:" \
		"sudo nginx/serve --stop --data $data"
	echo $$ >"$data/serve.pid"
}

# wait_gone SECONDS PID: true when it is gone.
wait_gone() {
	local i
	for ((i = 0; i < $1 * 20; i++)); do
		kill -0 "$2" 2>/dev/null || return 0
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

# runs_here PID TEXT: that process is ours: its command line has TEXT.
runs_here() {
	[[ -n $1 && -r /proc/$1/cmdline ]] &&
		tr '\0' ' ' <"/proc/$1/cmdline" | grep -qF -- "$2"
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

# What a serve left running that was killed itself.
end_leftovers() {
	local pid
	pid=$(cat "$data/warrend.pid" 2>/dev/null) || true
	if runs_here "$pid" "$data/bin/warrend"; then
		echo "Stopping warrend (pid $pid), left over from a run before"
		end_group "$pid" 20
	fi
	end_programs TERM warren-fcgi warren-recorder
	pid=$(cat "$data/nginx/nginx.pid" 2>/dev/null) || true
	if runs_here "$pid" "$data/nginx/nginx.conf"; then
		echo "Stopping nginx (pid $pid), left over from a run before"
		end_group "$pid" 5
	elif [[ -n $pid ]]; then
		# Workers whose master is gone are still in its group.
		kill_group_of nginx TERM "$pid"
	fi
	rm -f "$data/warrend.pid" "$data/nginx/nginx.pid"
}

# kill_group_of NAME SIGNAL GROUP: if a process of that name is in the group.
kill_group_of() {
	awk -v g="$3" -v n="($1)" '$2 == n && $5 == g { found = 1 }
		END { exit !found }' /proc/[0-9]*/stat 2>/dev/null || return 0
	kill "-$2" -- "-$3" 2>/dev/null || true
}

# run_daemon COMMAND...: in a session of its own, with a clean environment.
run_daemon() {
	cd / && exec setsid env -i LANG=C.UTF-8 TZ=UTC \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		"$@" 3>&- 9>&- </dev/null
}

start_broker() {
	(run_daemon "$data/bin/warrend" --data "$data" --run "$run" \
		--domain "$domain" --port "$port") >>"$data/warrend.log" 2>&1 &
	broker=$!
	echo "$broker" >"$data/warrend.pid"
}

start_nginx() {
	(run_daemon nginx -e "$data/nginx/error.log" -p "$data/nginx" \
		-c "$data/nginx/nginx.conf") >>"$data/serve.log" 2>&1 &
	nginx=$!
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

stop_all() {
	local pid
	trap '' INT TERM HUP
	printf '\nStopping… '
	[[ -z $nginx ]] || end_group "$nginx" 5
	for pid in "${old_nginx[@]}"; do
		kill_group_of nginx KILL "$pid"
	done
	[[ -z $broker ]] || end_group "$broker" 25
	# Workers of a broker that died may still be finishing streams.
	end_programs KILL warren-fcgi warren-recorder warren-keeper
	rm -f "$data/warrend.pid" "$data/serve.pid"
	# Nothing lives that could be found by it any more.
	rm -rf --one-file-system "$run"
	printf 'stopped\n'
}

healthy() {
	local to=${bind:-127.0.0.1}
	[[ $to == *:* ]] && to="[$to]"
	[[ $to != 0.0.0.0 ]] || to=127.0.0.1
	curl -sf -o /dev/null --noproxy '*' --max-time 2 -H "Host: $domain" \
		"http://$to:$port/v1/health"
}

start_all() {
	local i before
	rotate_log
	before=$(stat -c %s "$data/warrend.log")
	ulimit -n 65536 2>/dev/null || true
	start_broker
	start_nginx
	for ((i = 0; i < 300; i++)); do
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
		warren tenant list | grep -qw default ||
			warren tenant add default >>"$log"
		key=$(warren key add default | grep -o 'wrn_[A-Za-z0-9_-]*') ||
			fail "No API key could be made for tenant default"
		(umask 077 && printf '%s\n' "$key" >"$file.new")
		mv "$file.new" "$file"
		echo "API key: $key"
	else
		key=$(<"$file")
		echo "Key of tenant default: ${key:0:12}… (whole in $file)"
		key="\$(sudo cat $file)"
	fi
	cat <<-EOF

	Try it:
	  curl -H "Authorization: Bearer $key" \\
	    -H 'Content-Type: application/json' -d '{"command": "echo hello"}' \\
	    $url/v1/sandboxes/first/api/execute

	EOF
}

supervise() {
	local ended quick=0 last_again=0
	echo $$ >"$data/serve.pid"
	trap 'stopping=1' INT TERM HUP
	trap stop_all EXIT
	step Starting start_all
	echo "Warren is up: $url"
	first_key
	if [[ $mode == supervise ]]; then
		echo "It runs in the background; sudo nginx/serve --stop --data" \
			"$data ends it"
		echo @up
		exec >>"$log" 2>&1 3>&1
	else
		echo "Ctrl-C stops it."
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
# whose lines are shown until it is up.
detach() {
	local line up=
	trap - INT TERM
	while IFS= read -r line; do
		[[ $line != @up ]] || {
			up=1
			break
		}
		printf '%s\n' "$line"
	done < <(exec setsid "$here/serve" --supervise --data "$data" \
		--port "$port" --domain "$domain" --bind "$bind" \
		--build-type "$build_type" 2>&1 </dev/null)
	[[ -n $up ]] || exit 1
}

stop_running() {
	local pid
	exec 9>>"$data/serve.lock"
	if flock -n 9; then
		end_leftovers
		echo "Warren does not run on $data"
		return 0
	fi
	pid=$(cat "$data/serve.pid" 2>/dev/null) || true
	runs_here "$pid" serve || fail "It is starting; try again in a moment"
	kill -TERM "$pid"
	flock -w 45 9 || fail "Warren (pid $pid) did not stop within 45 s"
	echo "Warren on $data is stopped"
}
