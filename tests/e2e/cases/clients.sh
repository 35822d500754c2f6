# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# Many clients, of which most mean no good or nothing at all.
: "${e2e:?}" "${tmp:?}"

setup() {
	make_bench e1
	# Its mounts are those of the daemon that has made it; the cases come with others.
	stop_daemon
	bm ls
	did e1
}

teardown() {
	bm destroy e1
	did
	rm -f "$tmp"/{service.log,notify,settings}
}

with() { # SETTINGS COMMAND...
	printf '%s\n' "$1" >"$tmp/settings"
	stop_daemon
	py service up --config "$tmp/settings"
	"${@:2}"
	stop_daemon
	bm ls
	did e1
}

full_case_crowd() {
	py clients crowd
	echo "$out"
}

full_case_silent() {
	with '{"idle_seconds":8,"confirm_seconds":25}' py clients silent
}

case_shares() {
	with '{"operators":"nogroup","max_connections":64,"max_connections_per_user":20}' \
		py clients shares
}

case_no_descriptors() {
	stop_daemon
	py service up limit 160
	py clients no_descriptors
	stop_daemon
	bm ls
	did e1
}

# Who waits for the end of a Bench asks nothing meanwhile, and is no idler.
case_ending() {
	with '{"idle_seconds":5}' slow_end
}

slow_end() {
	local began=$SECONDS
	mkdir "$disk/zeros"
	make_bench c2
	bm grant c2 file "$disk/zeros:/out:rw" --yes
	did
	truncate -s 3900M "$disk/zeros/zeros"
	bm destroy c2
	did 'c2 destroyed' "written to $disk/zeros: 1 file"
	((SECONDS - began > 5)) || fail 'it took no time'
	rm -r "$disk/zeros"
}
