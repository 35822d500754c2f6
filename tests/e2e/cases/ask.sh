# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# Asking from inside: the client's words and exit codes, in whatever root file system.
: "${e2e:?}" "${tmp:?}" "${disk:?}"

# shellcheck source=tests/e2e/containers.sh
. "$e2e/containers.sh"

client=/run/benchmon/benchmon

setup() {
	mkdir -p /sys/fs/cgroup/e2e "$disk/src" "$disk/bare"
	echo hello >"$disk/src/file"
	make_bench e1
	# Its mounts are those of the daemon that has made it; the cases come with others.
	stop_daemon
	bm ls
	did e1
}

teardown() {
	bm destroy e1
	did
	rmdir /sys/fs/cgroup/e2e
	rm -r "$disk/src" "$disk/bare"
}

inside() { # ARGUMENT...: the client in e1
	bm exec e1 -- "$client" "$@"
}

asked() { # its number, from what was printed
	[[ $out =~ ^([a-z0-9/]+)\ awaits\ an\ operator ]] || fail 'it awaits nobody'
	id=${BASH_REMATCH[1]}
}

rejected() { # of all that was asked for
	bm reject "$id"
	ended 0
}

case_words() {
	inside
	did 'usage: benchmon request file SRC[:DEST][:ro|rw] --why TEXT' 'exit code: 0 asked'
	inside help
	did 'usage: benchmon request file'
	inside request --help
	did 'usage: benchmon request file'
	inside version
	did "benchmon     $(benchmon version | sed -n 's/^benchmon *//p')" 'gatekeeperd  '
	inside version --format json
	did '"gatekeeperd":{' '"protocol":1'
}

case_usage() {
	local words wanted
	while IFS='|' read -r words wanted; do
		# shellcheck disable=SC2086
		inside $words
		refused 2 "$wanted"
	done <<'END'
request|request what? file, net, listen or broker
request disk x --why y|only file, net, listen and broker can be asked for
request net --why y|net: which one?
request net apt|say what it is for: --why TEXT
request net apt --why|--why: needs a value
request net apt --why y --for 10|'10': not a duration
request net apt more --why y|more: one thing at a time
request file src --why y|src: name it as the host does, from / on
request file /a:b --why y|neither ro or rw nor an absolute DEST
request net apt --why y --format xml|xml: the formats are text and json
request net apt --yes --why y|--yes: no such option inside a Bench
grant e1 net apt|inside a Bench there are request, version and help alone
confirm e1/r1|inside a Bench there are request, version and help alone
version --why y|version: takes no such option
END
	inside request net --format json
	ended 2
	[[ $err == '{"error":{'*'"message":"net: which one?"'* ]] || fail 'no JSON'
}

case_pending() {
	inside request file "$disk/src:/in/asked" --why 'to build it' --for 1h
	did 'awaits an operator'
	asked
	[[ $id == e1/* ]] || fail 'it is of another Bench'
	bm pending
	did "$id" "$disk/src" 'to build it'
	rejected
	inside request net 198.51.100.10:8080 --why 'a "quoted" word' --format json
	did '"request":"e1/'
	key request
	id=$value
	rejected
	# Not asked for: the daemon's own words.
	inside request file /x:/../y --why y
	[[ $code -eq 125 && $err == 'benchmon: '* ]] || fail 'a destination that is none was asked for'
}

# What an operator decides is what it was waiting for.
case_waits() {
	local waiter status=0
	benchmon exec e1 -- "$client" request file "$disk/src:/in/asked" --why x --wait \
		>"$tmp/asked" 2>&1 </dev/null &
	waiter=$!
	soon grep -qs awaits "$tmp/asked"
	slurp "$tmp/asked" out
	asked
	bm confirm "$id" --yes
	ended 0
	wait "$waiter" || status=$?
	same 0 "$status" 'the exit code of who waited'
	slurp "$tmp/asked" out
	printed "$id confirmed: e1/"
	bm exec e1 -- cat /in/asked/file
	did hello
	benchmon exec e1 -- "$client" request net 198.51.100.10:8080 --why x --wait \
		>"$tmp/asked" 2>&1 </dev/null &
	waiter=$!
	soon grep -qs awaits "$tmp/asked"
	slurp "$tmp/asked" out
	asked
	rejected
	wait "$waiter" || status=$?
	same 1 "$status" 'the exit code of who was rejected'
	bm revoke e1 --all
	ended 0
	rm -f "$tmp/asked"
}

# Which Bench asks is no word of its own.
case_whose() {
	make_bench e2
	bm exec e2 -- "$client" request file "$disk/src" --why x
	did 'awaits an operator'
	asked
	[[ $id == e2/* ]] || fail "it is $id"
	rejected
	bm show e2 --format json
	did '"door":{"refused":0}'
	bm destroy e2
	did
}

# No libc, no shell, no /run; read-only; of somebody else's; run by whoever it is there.
case_anywhere() {
	bm create e2 --rootfs "$disk/bare"
	did e2
	bm exec e2 -- "$client" version
	did gatekeeperd
	bm destroy e2
	did
	same '' "$(ls -A "$disk/bare")" 'what was left in the root file system'
	bm create e2 --rootfs "$BENCHMON_ROOTFS" --exec image
	did e2
	bm exec e2 -- "$client" version
	did gatekeeperd
	bm destroy e2
	did
	bm exec e1 -- benchmon version
	did gatekeeperd
	bm exec e1 -- setpriv --reuid 1000 --regid 1000 --clear-groups "$client" version
	did gatekeeperd
}

case_attached() {
	local kind
	for kind in plain userns; do
		bundle c1 "$kind" '.root.readonly = true' /busybox sleep infinity
		created c1
		started c1
		bm attach c1 c1
		ended 0
		in_container c1 "$client" request net 198.51.100.10:8080 --why x
		did 'awaits an operator'
		asked
		[[ $id == c1/* ]] || fail "it is $id"
		rejected
		bm detach c1
		ended 0
		in_container c1 /busybox ls /run/benchmon
		[[ $code -ne 0 ]] || fail 'something stays in what is detached'
		removed c1
	done
}

case_restart() {
	stop_daemon KILL
	capture crun --root /run/benchmon/crun exec e1 "$client" request net x --why y </dev/null
	refused 125 'gatekeeperd does not run, and nothing can be granted meanwhile; try again later'
	capture crun --root /run/benchmon/crun exec e1 "$client" version </dev/null
	did 'gatekeeperd  not running'
	bm ls
	did e1
	inside version
	did gatekeeperd
	[[ $out != *'not running'* ]] || fail 'its door is closed'
}
