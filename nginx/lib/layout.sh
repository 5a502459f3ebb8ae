# The data directory D ($data), the run directory R ($run), and who owns what.

layout_find() {
	[[ -n $data ]] || fail "--data needs the name of a directory"
	data=$(realpath -m -- "$data")
	[[ $data =~ ^[A-Za-z0-9/_.,:@+-]+$ ]] ||
		fail "The path $data has characters that nginx's" \
			"configuration cannot carry"
	if [[ $data == /var/lib/warren ]]; then
		run=/run/warren
	else
		run=/run/warren-$(printf %s "$data" | sha256sum | cut -c 1-8)
	fi
	url=http://$domain
	[[ $port == 80 ]] || url+=:$port
}

data_make() {
	mkdir -p "$data" || fail "The data directory $data cannot be made"
	log=$data/serve.log
	(umask 027 && : >>"$log")
}

# The operator's command; run by root it becomes user warren.
warren() {
	"$data/bin/warren" --data "$data" "$@"
}

# may_pass USER: D can be reached by it.
may_pass() {
	runuser -u "$1" -- test -x "$data" ||
		fail "User $1 cannot reach $data: a directory above it is closed"
}

layout_make() {
	local program
	getent passwd warren >/dev/null ||
		useradd --system --user-group --no-create-home \
			--home-dir /nonexistent --shell /usr/sbin/nologin warren
	chmod 0755 "$data"
	may_pass warren
	may_pass www-data
	install -d -m 0755 "$data/bin" "$data/images"
	install -d -m 0750 -o warren -g warren "$data/db"
	install -d -m 0700 -o warren -g warren "$data/backups"
	install -d -m 0700 "$data/sandboxes"
	# What is in R is made by the broker, but for notes of pids.
	printf '%s\n' "$run" |
		install -m 0644 /dev/stdin "$data/run-dir"
	# Programs run from D: a checkout may be closed to user warren, and a
	# new build must not change what runs.
	for program in warrend warren-maker warren-keeper warren-init \
		warren-git warren-bundle warren-pty warren-fcgi \
		warren-terminal warren-recorder warren \
		libwarren-enter.so; do
		install -m 0755 "$repo/build/$build_type/$program" \
			"$data/bin/.$program"
		mv "$data/bin/.$program" "$data/bin/$program"
	done
	nginx_render
}

# listen_lines PORT [default_server]: for all the addresses that are wanted.
listen_lines() {
	local address addresses=() port=$1
	if [[ -n $bind ]]; then
		[[ $bind == *:* ]] && addresses=("[$bind]:") ||
			addresses=("$bind:")
	elif [[ $domain == localhost || $domain == *.localhost ]]; then
		addresses=(127.0.0.1:)
		! grep -qs '^0\{31\}1 ' /proc/net/if_inet6 ||
			addresses+=('[::1]:')
	else
		addresses=('')
		[[ ! -e /proc/net/if_inet6 ]] || addresses+=('[::]:')
	fi
	for address in "${addresses[@]}"; do
		printf 'listen %s%s%s; ' "$address" "$port" "${2:+ $2}"
	done
}

# preview_setting KEY: a number above 0 of [preview] in D/warren.ini, or
# nothing. What is wrong there is said by check_conf.
preview_setting() {
	[[ -e $data/warren.ini ]] || return 0
	awk -F '[ \t]*[=:][ \t]*' -v key="$1" '
		/^[ \t]*\[/ { inside = /^[ \t]*\[preview\]/ }
		{ sub(/[ \t]+(;.*)?$/, "", $2) }
		inside && $1 ~ "^[ \t]*" key "$" { n = $2 }
		END { if (n ~ /^[1-9][0-9]*$/ && length(n) < 8) print n }
		' "$data/warren.ini"
}

# render TEMPLATE: with the values of this data directory.
render() {
	local text idle path rate zone= limit= server=
	idle=$(preview_setting idleSeconds)
	path=$(preview_setting pathPort)
	if [[ -n $path ]]; then
		[[ $path != "$port" ]] ||
			fail "pathPort in $data/warren.ini must be another" \
				"port than --port: previews would be the" \
				"API's own origin"
		server="server { $(listen_lines "$path")"
		server+="include \"$data/nginx/error.conf\"; "
		server+="include \"$data/nginx/preview_path.conf\"; }"
	fi
	rate=$(preview_setting requestsPerSecond)
	if [[ -n $rate ]]; then
		zone="limit_req_zone \$warren_pv_name zone=warren_pv:10m"
		zone+=" rate=${rate}r/s;"
		limit="limit_req zone=warren_pv burst=$rate nodelay;"
		limit+=" limit_req_status 429;"
	fi
	text=$(<"$1")
	text=${text//@PATH_SERVER@/"$server"}
	text=${text//@PREVIEW_IDLE@/"${idle:-3600}s"}
	text=${text//@PREVIEW_ZONE@/"$zone"}
	text=${text//@PREVIEW_LIMIT@/"$limit"}
	text=${text//@DATA@/"$data"}
	text=${text//@RUN@/"$run"}
	text=${text//@DOMAIN@/"$domain"}
	text=${text//@DOMAIN_RE@/"${domain//./\\.}"}
	text=${text//@LISTEN@/"$(listen_lines "$port")"}
	text=${text//@LISTEN_DEFAULT@/"$(listen_lines "$port" default_server)"}
	printf '%s\n' "$text"
}

nginx_render() {
	local template name
	install -d -m 0750 -o root -g www-data "$data/nginx"
	install -d -m 0755 "$data/nginx/pages"
	install -d -m 0700 -o www-data -g www-data "$data/nginx/tmp"
	install -m 0644 "$here"/pages/* "$data/nginx/pages/"
	for template in "$here"/templates/*.in; do
		name=$(basename "$template" .in)
		render "$template" >"$data/nginx/$name"
	done
	nginx_run -t
}

nginx_run() {
	nginx -e "$data/nginx/error.log" -p "$data/nginx" \
		-c "$data/nginx/nginx.conf" "$@"
}
