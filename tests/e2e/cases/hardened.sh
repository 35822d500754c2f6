# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# The daemon with no more than its unit gives it: everything works, and no payload has what is the
# daemon's.
: "${tmp:?}" "${disk:?}" "${server:?}"

setup() {
	mkdir -p "$disk/src"
	echo hello >"$disk/src/file"
}

teardown() {
	rm -r "$disk/src"
	rm -f "$tmp"/{service.log,notify,asked}
}

case_as_the_unit_says() {
	# Also to load the programs, so there must be none.
	stop_daemon
	capture gatekeeperd --unload </dev/null
	did
	py service up hardened
	make_bench e1
	daemon_pid || fail 'not exactly one gatekeeperd'
	same -900 "$(cat "/proc/$daemon/oom_score_adj")" "the daemon's OOM score"
	[[ $(grep -c ' /usr .* ro,\| /usr ro,' "/proc/$daemon/mountinfo") -gt 0 ]] ||
		fail '/usr can be written to: nothing was restricted'
	make_bench h1
	bm exec h1 -- cat /proc/self/oom_score_adj
	did
	same 0 "$out" "the OOM score of a payload"
	bm exec e1 -- cat /proc/self/oom_score_adj
	did
	same 0 "$out" "the OOM score of a payload in an older Bench"
	bm grant h1 file "$disk/src:/in/src:rw" --yes
	did granted
	bm exec h1 -- sh -c 'cat /in/src/file && echo more >/in/src/new'
	did hello
	bm grant h1 net "$server:8080" --yes
	did granted
	bm exec h1 -- bash -c "cat </dev/tcp/$server/8080"
	did 'hello from 8080'
	bm revoke h1/1
	did 'h1/1 revoked'
	bm exec h1 -- ls /in/src
	ended 2
	# Its end, however it comes, is none of a Bench's.
	stop_daemon KILL
	py service up hardened
	bm exec h1 -- bash -c "cat </dev/tcp/$server/8080"
	did 'hello from 8080'
	bm revoke h1 --all
	did
	bm destroy h1
	did
	bm destroy e1
	did
	rm "$disk/src/new"
	stop_daemon
	bm ls
	did
}
