# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# What a Bench holds is looked for while others are served: what they may do meanwhile, and that
# nothing is read any more once a revocation has been answered.
: "${e2e:?}" "${tmp:?}" "${disk:?}" "${repo:?}"

# So that looking takes longer than what is done meanwhile.
many=4000
[[ -z ${E2E_FULL-} ]] || many=20000
group=/sys/fs/cgroup/benchmon/e1

setup() {
	mkdir -p "$disk/src"
	echo hello >"$disk/src/file"
	echo other >"$disk/other"
}

teardown() {
	rm -r "$disk/src" "$disk/other"
	rm -f "$tmp"/{revoked,other}
}

ready() {
	make_bench e1
	capture benchmon exec e1 -- sh -c 'cat >/work/held && chmod +x /work/held' <"$repo/build/e2e/held"
	did
}

ended_too() {
	bm destroy e1
	did
}

# Both are granted, and the file is open that often, in several processes.
holder_up() {
	bm grant e1 file "$disk/src:/in/src" --yes
	did granted
	[[ $out =~ (e1/[0-9]+)\ granted ]] || fail 'it has no id'
	id=${BASH_REMATCH[1]}
	bm grant e1 file "$disk/other:/in/other" --yes
	did granted
	[[ $out =~ (e1/[0-9]+)\ granted ]] || fail 'it has no id'
	other=${BASH_REMATCH[1]}
	# Of nobody who would end with the daemon.
	bm exec e1 -T -- sh -c "cd /work && rm -f try read && { setsid ./held /in/src/file $many </dev/null >said 2>&1 & }"
	did
	soon tried 1
	((value > 0)) || fail 'it reads nothing before'
}

tried() { # TIMES: it has read so often; leaves what came of the last in $value
	bm exec e1 -- cat /work/read
	[[ $(wc -l <"$tmp/out") -eq $1 ]] || return 1
	value=$(tail -n 1 "$tmp/out")
}

# Nothing of what it holds can be read any more.
read_no_more() {
	bm exec e1 -- sh -c ': >/work/try'
	did
	soon tried 2
	same 0 "$value" 'how many it still reads'
}

holder_down() {
	local pid
	for pid in $(<"$group/cgroup.procs"); do
		[[ $(<"/proc/$pid/comm") != held ]] || kill -9 "$pid" || :
	done 2>/dev/null
	bm revoke e1 --all
	did
}

revoking() { # GRANT [FILE]: in the background, and it is being looked for
	daemon_pid || fail 'not exactly one gatekeeperd'
	benchmon revoke "$1" </dev/null >"$tmp/${2-revoked}" 2>&1 &
	revoker=$!
	soon searching
}

searching() { # the daemon has a helper at it, and the Bench stands still
	local path stat
	[[ $(<"$group/cgroup.freeze") == 1 ]] || return 1
	for path in /proc/[0-9]*/stat; do
		{ read -r stat <"$path"; } 2>/dev/null || continue
		[[ ! $stat =~ \(gatekeeperd\)\ [^Z]\ $daemon\  ]] || return 0
	done
	return 1
}

still() { # what began is not over
	{ kill -0 "$revoker" && searching; } || fail "$1 was served only after the revocation"
}

revoked() { # [FILE [PID]]
	wait "${2-$revoker}" || fail "$(<"$tmp/${1-revoked}")"
	[[ $(<"$tmp/${1-revoked}") == *revoked* ]] || fail "$(<"$tmp/${1-revoked}")"
}

running() {
	same 0 "$(<"$group/cgroup.freeze")" 'whether it stands still'
}

# Other clients are served, whatever they ask, and of this Bench too.
case_others_go_on() {
	local began took
	ready
	make_bench e2
	holder_up
	began=$EPOCHREALTIME
	revoking "$id"
	bm ls
	did 'e1    ready' 'e2    ready'
	still ls
	bm exec e2 -- echo works
	did works
	still exec
	revoked
	took=$((${EPOCHREALTIME/./} - ${began/./}))
	echo "took $((took / 1000)) ms: revoke, with $many descriptors open"
	running
	read_no_more
	holder_down
	bm destroy e2
	did
	ended_too
}

# A second revocation of the same Bench waits for the first, and both are carried through.
case_two_of_one() {
	local first
	ready
	holder_up
	revoking "$id"
	first=$revoker
	benchmon revoke "$other" </dev/null >"$tmp/other" 2>&1 &
	revoker=$!
	revoked revoked "$first"
	revoked other
	running
	read_no_more
	bm exec e1 -- cat /in/other
	ended 1
	holder_down
	ended_too
}

# By an operator, while it is looked at: it stands still after, and is not let go before.
case_frozen_and_thawed() {
	ready
	holder_up
	revoking "$id"
	bm freeze e1
	did
	# It is begun anew: between two helpers there is none.
	kill -0 "$revoker" || fail 'freeze was served only after the revocation'
	revoked
	same 1 "$(<"$group/cgroup.freeze")" 'whether it stands still'
	bm thaw e1
	did
	running
	read_no_more
	holder_down
	holder_up
	bm freeze e1
	did
	revoking "$id"
	bm thaw e1
	did
	revoked
	running
	read_no_more
	holder_down
	ended_too
}

# Whoever asked hangs up.
case_unheard() {
	ready
	holder_up
	revoking "$id"
	kill -9 "$revoker"
	wait "$revoker" || :
	soon is_revoked "$id"
	running
	read_no_more
	holder_down
	ended_too
}

is_revoked() { # GRANT
	bm show e1 --format json
	[[ $out != *"\"id\":\"$1\""* ]]
}

case_daemon_ends() {
	local signal
	ready
	for signal in TERM KILL; do
		holder_up
		revoking "$id"
		stop_daemon $signal
		wait "$revoker" || :
		[[ $signal == KILL || $(<"$tmp/revoked") == *revoked* ]] || fail "$(<"$tmp/revoked")"
		bm show e1 --format json
		did
		is_revoked "$id" || fail 'it is granted still'
		running
		read_no_more
		holder_down
	done
	ended_too
}

case_destroyed() {
	ready
	holder_up
	revoking "$id"
	bm destroy e1
	did
	revoked
}
